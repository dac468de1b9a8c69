        AND (SELECT count(*) FROM events t
            WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $4) = $5
    RETURNING app_name, user_id, id
)
