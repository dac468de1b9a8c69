-- The session in the first row (no id), its events behind it: one statement is one snapshot and one round trip.
SELECT 0::bigint AS place, NULL AS id, NULL AS invocation_id, s.update_time AS "timestamp", s.state AS data,
    a.state AS app_state, u.state AS user_state,
    coalesce(nullif((SELECT count(*) FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = s.update_time), 0),
    (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3)) AS ties
FROM sessions s
    LEFT JOIN app_states a ON a.app_name = s.app_name
    LEFT JOIN user_states u ON u.app_name = s.app_name AND u.user_id = s.user_id
WHERE s.app_name = $1 AND s.user_id = $2 AND s.id = $3
