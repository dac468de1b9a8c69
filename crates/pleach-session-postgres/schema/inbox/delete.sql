-- The questions of the sessions whose users are $2 and ids $3: by their places in the table, so that each session is looked up
-- by its key, whatever the planner thinks of young tables.
DELETE FROM pleach_questions_{v} WHERE ctid = ANY (ARRAY(
    SELECT q.place_in_table FROM unnest($2::text[], $3::text[]) AS j (user_id, session_id)
        CROSS JOIN LATERAL (SELECT ctid AS place_in_table FROM pleach_questions_{v}
            WHERE app_name = $1 AND user_id = j.user_id AND session_id = j.session_id OFFSET 0) q))
