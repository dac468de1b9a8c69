UNION ALL
-- Row by row with their columns: for documents that lack what the columns have.
SELECT row_number() OVER (ORDER BY {order}), data, timestamp, NULL, NULL, NULL, id, invocation_id, NULL
FROM (SELECT id, invocation_id, timestamp, {data} AS data, {tie} AS tie
    FROM events WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 {wanted})
