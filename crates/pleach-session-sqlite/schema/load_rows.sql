-- The same events row by row with their columns, newest first: for documents that lack an id or a time.
SELECT id, timestamp, event_data
FROM events
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
    AND (?4 IS NULL OR (timestamp >= ?4 AND (typeof(timestamp) <> 'text' OR timestamp >= ?5)))
ORDER BY timestamp DESC, rowid DESC LIMIT ?6
