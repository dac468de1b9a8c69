-- The score is the number of patterns (a JSON array) that the text matches.
SELECT id, session_id, event_id, author, timestamp, content_json
FROM (
    SELECT e.*, (SELECT count(*) FROM json_each(?3) p WHERE e.search_text LIKE p.value ESCAPE '\') AS score
    FROM memory_events e WHERE e.app_name = ?1 AND e.user_id = ?2
)
WHERE score > 0
ORDER BY score DESC, timestamp DESC, id
LIMIT ?4
