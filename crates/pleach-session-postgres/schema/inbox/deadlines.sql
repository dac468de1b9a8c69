-- The events of the app $1 that ask questions with a deadline, with times from $2 on, but those of the users $3 and the sessions $4
-- with the ids $5, which were seen before.
SELECT e.user_id AS user_id, e.session_id AS session_id, e.id AS id, e.invocation_id AS invocation_id,
    e."timestamp" AS "timestamp",
    CASE WHEN s.id IS NULL THEN e.event_data END AS data, s.id IS NOT NULL AS is_seen
FROM (SELECT * FROM events WHERE app_name = $1 AND "timestamp" >= $2 AND {has_deadline} OFFSET 0) e
    LEFT JOIN unnest($3::text[], $4::text[], $5::text[]) AS s (user_id, session_id, id)
    ON s.user_id = e.user_id AND s.session_id = e.session_id AND s.id = e.id
