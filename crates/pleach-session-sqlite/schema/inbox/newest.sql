-- The last event of the log.
SELECT e.rowid AS place, e.app_name AS app_name, e.user_id AS user_id, e.session_id AS session_id, e.id AS event_id
FROM events e ORDER BY e.rowid DESC LIMIT 1
