SELECT user_id, id, update_time,
    (SELECT count(*) FROM events t
        WHERE t.app_name = s.app_name AND t.user_id = s.user_id AND t.session_id = s.id
            AND {t.timestamp at s.update_time}) AS ties
FROM sessions s
WHERE app_name = ?1 AND (?2 IS NULL OR user_id = ?2)
