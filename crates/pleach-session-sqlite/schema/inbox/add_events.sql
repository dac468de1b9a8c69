-- The JSON array ?1 of [app, user, session, event].
INSERT OR IGNORE INTO pleach_events_{v} (app_name, user_id, session_id, event_id)
SELECT s.app_name, s.user_id, s.id, j.value ->> 3
FROM json_each(?1) j
    CROSS JOIN sessions s ON s.app_name = j.value ->> 0 AND s.user_id = j.value ->> 1 AND s.id = j.value ->> 2
