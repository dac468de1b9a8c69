-- The time of an event and how many events up to it have that time: the revision right behind it.
SELECT e."timestamp" AS "timestamp",
    (SELECT count(*) FROM events t
        WHERE t.app_name = e.app_name AND t.user_id = e.user_id AND t.session_id = e.session_id
            AND t."timestamp" = e."timestamp" AND age(t.xmin) >= age(e.xmin)) AS ties
FROM events e
WHERE e.app_name = $1 AND e.user_id = $2 AND e.session_id = $3 AND e.id = $4
