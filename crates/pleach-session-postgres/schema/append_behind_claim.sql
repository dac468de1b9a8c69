        -- The claim has a time that no event has, and counted the events before it.
        AND NOT EXISTS (SELECT 1 FROM events t
            WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $4)
        AND (SELECT count(*) FROM events t
            WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3) = $5 - 2147483648
    RETURNING app_name, user_id, id
)
