-- The revision that refused an append.
SELECT s.update_time AS update_time,
    coalesce(nullif((SELECT count(*) FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = s.update_time), 0),
    (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3)) AS ties
FROM sessions s
WHERE s.app_name = $1 AND s.user_id = $2 AND s.id = $3
