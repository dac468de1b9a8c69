UNION ALL
SELECT chunk, group_concat(event_data, char(30)), NULL, NULL, NULL, NULL
FROM (SELECT event_data, (row_number() OVER (ORDER BY timestamp, row) - 1) / 256 AS chunk
    FROM (SELECT event_data, timestamp, rowid AS row
        FROM events WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3
            AND timestamp >= ?4 AND (typeof(timestamp) <> 'text' OR timestamp >= ?5)
        ORDER BY timestamp DESC, rowid DESC LIMIT ?6))
GROUP BY chunk
