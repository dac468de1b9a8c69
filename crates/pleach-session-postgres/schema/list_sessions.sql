-- A page of sessions (kind 0), the state of the app (1) and of the users on the page (2); no states without `$8`. A condition may
-- leave out those that the program $9 has noted.
WITH page AS (
    SELECT user_id, id, update_time, CASE WHEN $8::bool THEN state ELSE '{}' END AS state FROM sessions s
    WHERE app_name = $1 AND ($7::bool OR user_id = $2)
        AND ($3::timestamp IS NULL OR (update_time, user_id, id) > ($3, $4, $5)){unsettled}
    ORDER BY update_time, user_id, id LIMIT $6
)
SELECT 0 AS kind, row_number() OVER (ORDER BY update_time, user_id, id) AS place, user_id, id, update_time, state,
    coalesce(nullif((SELECT count(*) FROM events t
        WHERE t.app_name = $1 AND t.user_id = page.user_id AND t.session_id = page.id AND t."timestamp" = page.update_time), 0),
    (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
        WHERE t.app_name = $1 AND t.user_id = page.user_id AND t.session_id = page.id)) AS ties,
    update_time = '-infinity' AS is_first
FROM page
UNION ALL
SELECT 1, 0, NULL, NULL, NULL, state, 0, false FROM app_states WHERE $8 AND app_name = $1
UNION ALL
SELECT 2, 0, user_id, NULL, NULL, state, 0, false FROM user_states
WHERE $8 AND app_name = $1 AND user_id IN (SELECT user_id FROM page)
