SELECT e.id, e.session_id, e.event_id, e.author, e.timestamp, e.content_json
FROM memory_events_fts JOIN memory_events e ON e.id = memory_events_fts.rowid
WHERE e.app_name = ?1 AND e.user_id = ?2 AND memory_events_fts.search_text MATCH ?3
ORDER BY bm25(memory_events_fts), e.timestamp DESC, e.id
LIMIT ?4
