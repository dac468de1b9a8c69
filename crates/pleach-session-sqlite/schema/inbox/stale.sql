-- Sessions whose questions are behind their events, ordered by key, behind the key (?3, ?4), or from it on when ?5 is 0. Only the
-- index is read.
WITH now AS (
    SELECT user_id, session_id, count(*) AS events FROM events INDEXED BY pleach_events_1
    WHERE app_name = ?1 AND {user} AND (user_id, session_id, 1) > (?3, ?4, ?5) AND {concerns}
    GROUP BY user_id, session_id
)
SELECT now.user_id AS user_id, now.session_id AS session_id, now.events AS events
FROM now CROSS JOIN sessions s ON s.app_name = ?1 AND s.user_id = now.user_id AND s.id = now.session_id
    LEFT JOIN pleach_inbox p ON p.app_name = ?1 AND p.user_id = now.user_id AND p.session_id = now.session_id
WHERE p.events IS NOT now.events OR p.projection IS NOT ?6 OR p.created IS NOT quote(s.create_time)
    OR p.questions IS NOT (SELECT count(*) FROM pleach_questions q
        WHERE q.app_name = ?1 AND q.user_id = now.user_id AND q.session_id = now.session_id)
ORDER BY now.user_id, now.session_id LIMIT ?7
