SELECT -1 AS chunk, s.state AS data, s.update_time AS update_time, a.state AS app_state, u.state AS user_state,
    {ties} AS ties, NULL AS ids, NULL AS invocations, {anchor} AS anchor
FROM sessions s
    LEFT JOIN app_states a ON a.app_name = s.app_name
    LEFT JOIN user_states u ON u.app_name = s.app_name AND u.user_id = s.user_id
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.id = ?3
