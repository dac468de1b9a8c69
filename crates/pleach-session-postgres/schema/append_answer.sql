-- Whether it is stored; how many events had its time before it; and the revision the statement found.
SELECT EXISTS (SELECT 1 FROM e) AS stored,
    (SELECT count(*) FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $6) AS before,
    found.update_time AS update_time,
    (SELECT count(*) FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = found.update_time) AS ties
FROM (SELECT 1) AS one
    LEFT JOIN sessions found ON found.app_name = $1 AND found.user_id = $2 AND found.id = $3
