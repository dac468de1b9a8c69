-- The fence of an append without the event. The new time must be that of no event: its revision would be the one right
-- behind that event.
UPDATE sessions SET update_time = $6
WHERE app_name = $1 AND user_id = $2 AND id = $3 AND update_time = $4
    AND xmin = (SELECT f.xmin FROM sessions f WHERE f.app_name = $1 AND f.user_id = $2 AND f.id = $3)
    AND (SELECT count(*) FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $4) = $5
    AND NOT EXISTS (SELECT 1 FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $6)
