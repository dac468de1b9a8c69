SELECT user_id, id, update_time FROM sessions WHERE app_name = ?1 AND (?2 IS NULL OR user_id = ?2)
