-- Open questions behind the place (?4, ?5, ?6, ?7), with the events that ask them.
SELECT q.user_id AS user_id, q.session_id AS session_id, q.place AS place, q.asked_at AS asked_at,
    q.question_id AS question_id, e.event_data AS data, e.id AS ids, e.invocation_id AS invocations,
    e.timestamp AS update_time
FROM pleach_questions_{v} q
    CROSS JOIN sessions s ON s.app_name = q.app_name AND s.user_id = q.user_id AND s.id = q.session_id
    CROSS JOIN events e
    ON e.app_name = q.app_name AND e.user_id = q.user_id AND e.session_id = q.session_id AND e.id = q.event_id
WHERE q.app_name = ?1 AND {user} AND {assignee} AND (q.asked_at, q.user_id, q.session_id, q.place) > (?4, ?5, ?6, ?7)
ORDER BY q.asked_at, q.user_id, q.session_id, q.place LIMIT ?8
