UNION ALL
SELECT chunk, group_concat(data, char(30)), NULL, NULL, NULL, NULL, {ids}, NULL
FROM (SELECT data, id, invocation_id, (row_number() OVER (ORDER BY {order}) - 1) / 256 AS chunk
    FROM (SELECT {data} AS data, id, invocation_id, timestamp, {tie} AS tie
        FROM events WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 {wanted}))
GROUP BY chunk
