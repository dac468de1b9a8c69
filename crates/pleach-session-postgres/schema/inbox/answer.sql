-- Open questions behind the place ($4, $5, $6, $7), with the events that ask them.
SELECT q.*, e.*
FROM (SELECT user_id, session_id, place, asked_at, question_id, event_id FROM pleach_questions_{v}
        WHERE app_name = $1 AND {user} AND {assignee}
            AND (asked_at, user_id COLLATE "C", session_id COLLATE "C", place) > ($4, $5, $6, $7)
        ORDER BY asked_at, user_id COLLATE "C", session_id COLLATE "C", place LIMIT $8) q
    CROSS JOIN LATERAL (SELECT id, invocation_id, "timestamp", event_data AS data FROM events
        WHERE id = q.event_id AND app_name = $1 AND user_id = q.user_id AND session_id = q.session_id OFFSET 0) e
ORDER BY q.asked_at, q.user_id COLLATE "C", q.session_id COLLATE "C", q.place
