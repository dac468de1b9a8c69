-- Sessions whose questions are behind their events, ordered by key, behind the key (?3, ?4), or from it on when ?5 is 0.
-- Neither documents nor states are read.
WITH now AS (
    SELECT a.user_id AS user_id, a.session_id AS session_id, count(*) AS events
    FROM pleach_events_{v} a CROSS JOIN events e
        ON e.id = a.event_id AND e.app_name = a.app_name AND e.user_id = a.user_id AND e.session_id = a.session_id
    WHERE a.app_name = ?1 AND {user} AND (a.user_id, a.session_id, 1) > (?3, ?4, ?5)
    GROUP BY a.user_id, a.session_id
)
SELECT now.user_id AS user_id, now.session_id AS session_id, now.events AS events
FROM now CROSS JOIN sessions s ON s.app_name = ?1 AND s.user_id = now.user_id AND s.id = now.session_id
    LEFT JOIN pleach_inbox_{v} p ON p.app_name = ?1 AND p.user_id = now.user_id AND p.session_id = now.session_id
WHERE p.events IS NOT now.events OR p.created IS NOT quote(s.create_time)
    OR p.questions IS NOT (SELECT count(*) FROM pleach_questions_{v} q
        WHERE q.app_name = ?1 AND q.user_id = now.user_id AND q.session_id = now.session_id)
ORDER BY now.user_id, now.session_id LIMIT ?6
