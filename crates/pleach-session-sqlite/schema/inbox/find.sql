-- Up to which row the log was searched, and the last of the next ?1 rows. Only an event that is still there counts: behind one
-- that was deleted, its number may have been given again.
WITH searched AS (
    SELECT place FROM pleach_searched_{v} p
    WHERE EXISTS (SELECT 1 FROM events e
        WHERE e.rowid = p.place AND e.id = p.event_id
            AND (p.session_id IS NULL
                OR e.app_name = p.app_name AND e.user_id = p.user_id AND e.session_id = p.session_id))
        AND p.created IS (SELECT quote(s.create_time) FROM sessions s
            WHERE s.app_name = p.app_name AND s.user_id = p.user_id AND s.id = p.session_id)
    ORDER BY place DESC LIMIT 1
)
SELECT coalesce((SELECT place FROM searched), 0) AS searched,
    (SELECT max(place) FROM (SELECT rowid AS place FROM events
        WHERE rowid > coalesce((SELECT place FROM searched), 0) ORDER BY rowid LIMIT ?1)) AS next
