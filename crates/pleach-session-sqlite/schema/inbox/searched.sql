-- The log was searched from the row ?1 to the event ?2 to ?6. In tables that were made again meanwhile it was not.
INSERT INTO pleach_searched_{v} (place, app_name, user_id, session_id, event_id, created)
SELECT ?2, s.app_name, s.user_id, s.id, ?6, iif(s.id IS NULL, NULL, quote(s.create_time))
FROM (SELECT 1) LEFT JOIN sessions s ON s.app_name = ?3 AND s.user_id = ?4 AND s.id = ?5
WHERE ?1 = 0 OR EXISTS (SELECT 1 FROM pleach_searched_{v} WHERE place = ?1)
ON CONFLICT (place) DO UPDATE
SET app_name = excluded.app_name, user_id = excluded.user_id, session_id = excluded.session_id, event_id = excluded.event_id,
    created = excluded.created
