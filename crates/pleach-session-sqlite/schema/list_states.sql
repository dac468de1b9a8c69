-- The sessions of the rows in the JSON array ?2 (kind 0), the state of the app (1) and of their users (2); no states without `?3`.
SELECT 0 AS kind, s.rowid AS place, s.user_id AS user_id, s.id AS id, CASE WHEN ?3 THEN s.state ELSE '{}' END AS state,
    s.update_time AS update_time, {ties} AS ties
FROM json_each(?2) j CROSS JOIN sessions s ON s.rowid = j.value
WHERE s.app_name = ?1
UNION ALL
SELECT 1, 0, NULL, NULL, state, NULL, NULL FROM app_states WHERE ?3 AND app_name = ?1
UNION ALL
SELECT 2, 0, u.user_id, NULL, u.state, NULL, NULL
FROM (SELECT DISTINCT s.user_id FROM json_each(?2) j CROSS JOIN sessions s ON s.rowid = j.value) page
    CROSS JOIN user_states u ON u.app_name = ?1 AND u.user_id = page.user_id
WHERE ?3
