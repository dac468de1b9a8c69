-- What the rows of sessions are made from. A row that was made from more events stays, unless there are no longer so many.
INSERT INTO pleach_inbox (app_name, user_id, session_id, projection, created, events, questions)
SELECT ?1, j.value ->> 0, j.value ->> 1, ?3, j.value ->> 2, j.value ->> 3, j.value ->> 4
FROM json_each(?2) j
    CROSS JOIN sessions s ON s.app_name = ?1 AND s.user_id = j.value ->> 0 AND s.id = j.value ->> 1
WHERE quote(s.create_time) = j.value ->> 2
ON CONFLICT (app_name, user_id, session_id) DO UPDATE
SET projection = excluded.projection, created = excluded.created, events = excluded.events, questions = excluded.questions
WHERE excluded.events >= pleach_inbox.events OR excluded.projection <> pleach_inbox.projection
    OR excluded.created <> pleach_inbox.created
    OR pleach_inbox.events > (SELECT count(*) FROM events e INDEXED BY pleach_events_1
        WHERE e.app_name = pleach_inbox.app_name AND e.user_id = pleach_inbox.user_id
            AND e.session_id = pleach_inbox.session_id AND {concerns})
RETURNING user_id, session_id
