-- Sessions whose questions are behind their events, ordered by key, behind the key ($3, $4) if there is one.
WITH now AS (
    SELECT user_id, session_id, count(*) AS events FROM events
    WHERE app_name = $1 AND {user} AND (user_id, session_id) {behind} ($3, $4) AND {concerns}
    GROUP BY user_id, session_id
),
asked AS (
    SELECT user_id, session_id, count(*) AS questions FROM pleach_questions_{v}
    WHERE app_name = $1 AND {user}
    GROUP BY user_id, session_id
)
SELECT now.user_id AS user_id, now.session_id AS session_id, now.events AS events
FROM now JOIN sessions s ON s.app_name = $1 AND s.user_id = now.user_id AND s.id = now.session_id
    LEFT JOIN pleach_inbox_{v} p ON p.app_name = $1 AND p.user_id = now.user_id AND p.session_id = now.session_id
    LEFT JOIN asked ON asked.user_id = now.user_id AND asked.session_id = now.session_id
WHERE p.events IS DISTINCT FROM now.events OR p.created IS DISTINCT FROM s.create_time
    OR p.questions IS DISTINCT FROM coalesce(asked.questions, 0)
ORDER BY now.user_id, now.session_id LIMIT $5
