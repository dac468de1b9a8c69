INSERT INTO memory_events
    (app_name, user_id, session_id, event_id, author, timestamp, content_json, search_text)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (app_name, user_id, session_id, event_id) DO UPDATE SET
    author = excluded.author,
    timestamp = excluded.timestamp,
    content_json = excluded.content_json,
    search_text = excluded.search_text
RETURNING id
