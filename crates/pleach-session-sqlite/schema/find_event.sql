-- One event, how many events up to it share its time (the revision right behind it), and whether a caller who has seen the
-- ?5-th event of the microsecond ?4 has seen it: rows are numbered in the order they are appended.
SELECT e.event_data AS event_data, e.timestamp AS timestamp, {ties} AS ties,
    coalesce({anchor} >= e.rowid, 0) AS seen
FROM events e
WHERE e.app_name = ?1 AND e.user_id = ?2 AND e.session_id = ?3 AND e.id = ?6
