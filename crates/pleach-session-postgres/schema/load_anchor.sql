-- The event a revision stands for: the $5-th of its microsecond. Appends of a session happen one after the other, so the
-- age of the transactions is their order, whatever their times are.
WITH anchor AS (
    SELECT t.xmin AS xid FROM events t
    WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $4 AND $5::bigint > 0
    ORDER BY age(t.xmin) DESC OFFSET greatest($5 - 1, 0) LIMIT 1
)
