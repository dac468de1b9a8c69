-- The fence of an append without the event. The new time must be that of no event: its revision would be the one right
-- behind that event. The new ties are those of a claim: see `CLAIMED`.
UPDATE sessions SET update_time = $6
WHERE app_name = $1 AND user_id = $2 AND id = $3 AND update_time = $4
    AND xmin = (SELECT f.xmin FROM sessions f WHERE f.app_name = $1 AND f.user_id = $2 AND f.id = $3)
    AND coalesce(nullif((SELECT count(*) FROM events t
            WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $4), 0),
        (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
            WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3)) = $5
    AND NOT EXISTS (SELECT 1 FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $6)
RETURNING (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
    WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3) AS ties
