-- The event of the row ?1, the last one of the log, and those of the app ?2 between them that may ask questions with a deadline,
-- with their documents. A `+` keeps SQLite from an index of the app, which has all its events.
SELECT e.rowid AS place, e.app_name AS app_name, e.user_id AS user_id, e.session_id AS session_id, e.id AS event_id,
    iif(e.app_name = ?2 AND {deadlines}, e.event_data, NULL) AS data, e.id AS ids, e.invocation_id AS invocations,
    e.timestamp AS update_time
FROM events e
WHERE e.rowid >= ?1
    AND (+e.rowid = ?1 OR +e.rowid = (SELECT max(rowid) FROM events) OR +e.app_name = ?2 AND {deadlines})
ORDER BY e.rowid
