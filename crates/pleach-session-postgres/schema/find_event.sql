-- One event, whether it is the given one, how many events up to it share its time (the revision right behind it), and
-- whether the owner of that anchor has seen it: NULL when the order is lost.
SELECT coalesce(e.event_data::text = ($7::text::jsonb)::text, false) AS same, e."timestamp" AS "timestamp",
    -- Asked for only where the texts may differ although the events are the same.
    CASE WHEN $8 THEN e.event_data END AS data,
    (SELECT count(*) FROM events t
        WHERE t.app_name = e.app_name AND t.user_id = e.user_id AND t.session_id = e.session_id
            AND t."timestamp" = e."timestamp" AND age(t.xmin) >= age(e.xmin)) AS ties,
    CASE WHEN NOT EXISTS (SELECT 1 FROM lost)
        THEN coalesce((SELECT age(xid) FROM anchor) <= age(e.xmin), false) END AS seen
FROM events e
WHERE e.app_name = $1 AND e.user_id = $2 AND e.session_id = $3 AND e.id = $6
