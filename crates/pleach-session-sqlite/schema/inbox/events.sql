-- The events that may concern questions, of the sessions in the JSON array ?2 of [user, session].
SELECT j.key AS slot, quote(s.create_time) AS created, e.event_data AS data, e.id AS ids, e.invocation_id AS invocations,
    e.timestamp AS update_time
FROM json_each(?2) j
    CROSS JOIN sessions s ON s.app_name = ?1 AND s.user_id = j.value ->> 0 AND s.id = j.value ->> 1
    CROSS JOIN pleach_events_{v} a ON a.app_name = ?1 AND a.user_id = s.user_id AND a.session_id = s.id
    CROSS JOIN events e
    ON e.id = a.event_id AND e.app_name = ?1 AND e.user_id = a.user_id AND e.session_id = a.session_id
ORDER BY j.key, e.timestamp, e.{tie}
