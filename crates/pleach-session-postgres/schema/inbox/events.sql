-- The events that may concern questions, of the sessions whose users are $2 and ids $3. The sub-selects of a row each keep
-- the planner, which may know nothing of young tables, from reading all of them.
SELECT j.slot AS slot, s.created AS created, e.id AS id, e.invocation_id AS invocation_id, e."timestamp" AS "timestamp",
    e.event_data AS data
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS j (user_id, session_id, slot)
    CROSS JOIN LATERAL (SELECT create_time::text AS created FROM sessions
        WHERE app_name = $1 AND user_id = j.user_id AND id = j.session_id OFFSET 0) s
    CROSS JOIN LATERAL (SELECT id, invocation_id, "timestamp", event_data FROM events
        WHERE app_name = $1 AND user_id = j.user_id AND session_id = j.session_id AND {concerns} OFFSET 0) e
ORDER BY j.slot, e."timestamp", e.id
