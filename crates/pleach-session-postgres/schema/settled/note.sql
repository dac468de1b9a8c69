-- The sessions with the apps $1, users $2 and ids $3 need nothing for the program $6, at the update times $4 and with the ties $5:
-- only those that are still so are noted. They are locked in the order of their keys, and against their deletion only. Each row is
-- looked up by its key, whatever the planner thinks of young tables.
WITH seen AS (
    SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamp[], $5::bigint[])
        AS j (app_name, user_id, session_id, update_time, ties)
),
others AS (
    SELECT n.place_in_table, n.is_older FROM seen j
        CROSS JOIN LATERAL (SELECT ctid AS place_in_table, is_older FROM pleach_settled_1
            WHERE app_name = j.app_name AND user_id = j.user_id AND session_id = j.session_id AND program <> $6 OFFSET 0) n
),
displaced AS (
    DELETE FROM pleach_settled_1 WHERE ctid = ANY (ARRAY(SELECT place_in_table FROM others WHERE is_older))
),
older AS (
    UPDATE pleach_settled_1 SET is_older = true
    WHERE ctid = ANY (ARRAY(SELECT place_in_table FROM others WHERE NOT is_older))
),
alive AS (
    SELECT s.app_name, s.user_id, s.id AS session_id, s.create_time AS created, s.update_time, j.ties
    FROM (SELECT * FROM seen ORDER BY app_name, user_id, session_id) j
        CROSS JOIN LATERAL (SELECT app_name, user_id, id, create_time, update_time FROM sessions
            WHERE app_name = j.app_name AND user_id = j.user_id AND id = j.session_id FOR KEY SHARE) s
    WHERE s.update_time = j.update_time
        AND j.ties = coalesce(nullif((SELECT count(*) FROM events t
                WHERE t.app_name = s.app_name AND t.user_id = s.user_id AND t.session_id = s.id
                    AND t."timestamp" = s.update_time), 0),
            (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
                WHERE t.app_name = s.app_name AND t.user_id = s.user_id AND t.session_id = s.id))
)
INSERT INTO pleach_settled_1 AS n (app_name, user_id, session_id, program, created, update_time, ties, is_older)
SELECT app_name, user_id, session_id, $6, created, update_time, ties, false
FROM alive ORDER BY app_name, user_id, session_id
ON CONFLICT (app_name, user_id, session_id, program) DO UPDATE
SET created = excluded.created, update_time = excluded.update_time, ties = excluded.ties, is_older = false
