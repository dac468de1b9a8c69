UNION ALL
SELECT row_number() OVER (ORDER BY "timestamp", id), id, invocation_id, "timestamp", event_data, NULL, NULL, NULL
FROM (SELECT id, invocation_id, "timestamp", event_data FROM events
    WHERE app_name = $1 AND user_id = $2 AND session_id = $3 AND "timestamp" >= coalesce($4, '-infinity'::timestamp)
    ORDER BY "timestamp" DESC, id DESC LIMIT $5) newest
