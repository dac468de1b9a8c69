SELECT s.update_time AS update_time, {ties} AS ties
FROM sessions s
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.id = ?3
