-- What the rows of sessions are made from. A row that was made from more events stays, unless there are no longer so many.
-- Sessions are locked in the order of their keys, and against their deletion only; each is looked up by its key, whatever the
-- planner thinks of young tables.
WITH alive AS (
    SELECT s.user_id, s.id AS session_id, s.create_time AS created, r.events, r.questions
    FROM (SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
                AS r (user_id, session_id, created, events, questions)
            ORDER BY user_id, session_id) r
        CROSS JOIN LATERAL (SELECT user_id, id, create_time FROM sessions
            WHERE app_name = $1 AND user_id = r.user_id AND id = r.session_id FOR KEY SHARE) s
    WHERE s.create_time::text = r.created
)
INSERT INTO pleach_inbox_{v} AS p (app_name, user_id, session_id, created, events, questions)
SELECT $1, alive.user_id, alive.session_id, alive.created, alive.events, alive.questions
FROM alive ORDER BY alive.user_id, alive.session_id
ON CONFLICT (app_name, user_id, session_id) DO UPDATE
SET created = excluded.created, events = excluded.events, questions = excluded.questions
WHERE excluded.events >= p.events OR excluded.created <> p.created
    OR p.events > (SELECT count(*) FROM events
        WHERE events.app_name = p.app_name AND events.user_id = p.user_id AND events.session_id = p.session_id AND {concerns})
RETURNING user_id, session_id
