-- The events of the rows behind ?1, up to ?2, that may concern questions, and the last one.
SELECT e.rowid AS place, e.app_name AS app_name, e.user_id AS user_id, e.session_id AS session_id, e.id AS event_id,
    {concerns} AS concerns
FROM events e
WHERE e.rowid > ?1 AND e.rowid <= ?2 AND (e.rowid = ?2 OR {concerns})
ORDER BY e.rowid
