UNION ALL
SELECT row_number() OVER (ORDER BY age(t.xmin) DESC, t."timestamp", t.id), t.id, t.invocation_id, t."timestamp", t.event_data,
    NULL, NULL, NULL
FROM events t
WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3
    AND ($5 = 0 OR age(t.xmin) < (SELECT age(xid) FROM anchor))
-- A row without a place says that nothing can be said: the order is lost, or the event is gone, or came with others in one
-- transaction, as a restored dump does; the revision of a session without events is its creation.
UNION ALL
SELECT -1, '', NULL, NULL, NULL, NULL, NULL, NULL
WHERE EXISTS (SELECT 1 FROM lost) OR CASE WHEN $5 > 0
    THEN 1 <> (SELECT count(*) FROM events t, anchor
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t.xmin = anchor.xid)
    ELSE NOT EXISTS (SELECT 1 FROM sessions c
        WHERE c.app_name = $1 AND c.user_id = $2 AND c.id = $3 AND c.create_time = $4) END
