-- Every wanted session (kind 0, by its place in the list), the state of the app (1) and of its users (2); no states without `?4`.
SELECT 0 AS kind, j.key AS slot, NULL AS user_id, CASE WHEN ?4 THEN s.state ELSE '{}' END AS state, s.update_time AS update_time, {ties} AS ties
FROM json_each(?2) j CROSS JOIN sessions s
    ON s.app_name = ?1 AND s.user_id = j.value ->> 0 AND s.id = j.value ->> 1
UNION ALL
SELECT 1, 0, NULL, state, NULL, NULL FROM app_states WHERE ?4 AND app_name = ?1
UNION ALL
SELECT 2, 0, user_id, state, NULL, NULL FROM user_states WHERE ?4 AND app_name = ?1 AND (?3 IS NULL OR user_id = ?3)
