(SELECT CASE WHEN ?5 > 0
    -- Rows are numbered in the order they are appended.
    THEN (SELECT t.rowid FROM events t
        WHERE t.app_name = ?1 AND t.user_id = ?2 AND t.session_id = ?3 AND {t.timestamp at ?4}
        ORDER BY t.rowid LIMIT 1 OFFSET ?5 - 1)
    ELSE (SELECT 0 FROM sessions c
        WHERE c.app_name = ?1 AND c.user_id = ?2 AND c.id = ?3 AND {c.create_time at ?4}) END)
