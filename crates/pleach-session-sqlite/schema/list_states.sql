-- The state of every wanted session (kind 0, by its place in the list), of the app (1) and of its users (2).
SELECT 0 AS kind, j.key AS slot, NULL AS user_id, s.state AS state
FROM json_each(?2) j CROSS JOIN sessions s
    ON s.app_name = ?1 AND s.user_id = j.value ->> 0 AND s.id = j.value ->> 1
UNION ALL
SELECT 1, 0, NULL, state FROM app_states WHERE app_name = ?1
UNION ALL
SELECT 2, 0, user_id, state FROM user_states WHERE app_name = ?1 AND (?3 IS NULL OR user_id = ?3)
