SELECT count(*) AS count FROM events
WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND {timestamp at ?4}
