-- The event a revision stands for: the $5-th of its microsecond. Appends of a session happen one after the other, so the
-- age of the transactions is their order, whatever their times are.
--
-- Ages have 31 bits: behind so many transactions they are negative, and the order is not known any more.
WITH anchor AS (
    SELECT t.xmin AS xid FROM events t
    WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $4 AND $5::bigint > 0
    ORDER BY age(t.xmin) DESC OFFSET greatest($5 - 1, 0) LIMIT 1
),
lost AS (
    SELECT 1 FROM events t
    WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND age(t.xmin) < 0 LIMIT 1
)
