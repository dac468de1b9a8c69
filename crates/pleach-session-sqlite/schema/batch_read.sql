-- What an append is judged by: its session (kind 0), and app (1) and user (2) state where its delta names such keys.
SELECT 0 AS kind, j.key AS slot, CASE WHEN j.value ->> 3 THEN s.state END AS state, s.update_time AS update_time,
    {ties} AS ties,
    (SELECT max(t.timestamp) FROM events t
        WHERE t.app_name = s.app_name AND t.user_id = s.user_id AND t.session_id = s.id) AS newest,
    {mixed} AS mixed
FROM json_each(?1) j CROSS JOIN sessions s
    ON s.app_name = j.value ->> 0 AND s.user_id = j.value ->> 1 AND s.id = j.value ->> 2
UNION ALL
SELECT 1, j.key, a.state, NULL, NULL, NULL, NULL
FROM json_each(?2) j CROSS JOIN app_states a ON a.app_name = j.value
UNION ALL
SELECT 2, j.key, u.state, NULL, NULL, NULL, NULL
FROM json_each(?3) j CROSS JOIN user_states u ON u.app_name = j.value ->> 0 AND u.user_id = j.value ->> 1
