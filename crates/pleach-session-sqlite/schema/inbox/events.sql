-- The events that may concern questions, of the sessions in the JSON array ?2 of [user, session].
SELECT j.key AS slot, quote(s.create_time) AS created, e.event_data AS data, e.id AS ids, e.invocation_id AS invocations,
    e.timestamp AS update_time
FROM json_each(?2) j
    CROSS JOIN sessions s ON s.app_name = ?1 AND s.user_id = j.value ->> 0 AND s.id = j.value ->> 1
    CROSS JOIN events e INDEXED BY pleach_events_1
    ON e.app_name = ?1 AND e.user_id = j.value ->> 0 AND e.session_id = j.value ->> 1 AND {concerns}
ORDER BY j.key, e.timestamp, e.{tie}
