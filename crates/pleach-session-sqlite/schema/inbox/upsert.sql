-- What the rows of sessions are made from. A row that was made from more events stays, unless there are no longer so many.
INSERT INTO pleach_inbox_{v} AS p (app_name, user_id, session_id, created, events, questions)
SELECT ?1, j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4
FROM json_each(?2) j
    CROSS JOIN sessions s ON s.app_name = ?1 AND s.user_id = j.value ->> 0 AND s.id = j.value ->> 1
WHERE quote(s.create_time) = j.value ->> 2
ON CONFLICT (app_name, user_id, session_id) DO UPDATE
SET created = excluded.created, events = excluded.events, questions = excluded.questions
WHERE excluded.events >= p.events OR excluded.created <> p.created
    OR p.events > (SELECT count(*)
        FROM pleach_events_{v} a CROSS JOIN events e
            ON e.id = a.event_id AND e.app_name = a.app_name AND e.user_id = a.user_id AND e.session_id = a.session_id
        WHERE a.app_name = p.app_name AND a.user_id = p.user_id AND a.session_id = p.session_id)
RETURNING user_id, session_id
