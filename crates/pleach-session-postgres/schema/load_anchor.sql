-- The last event that the owner of a revision has seen: the $5-th of its microsecond, or the last before a claim. Appends of a session happen one after the other, so the
-- age of the transactions is their order, whatever their times are.
--
-- Ages have 31 bits: behind so many transactions they are negative, and the order is not known any more.
WITH anchor AS (
    (SELECT t.xmin AS xid FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $4
            AND $5::bigint BETWEEN 1 AND 2147483647
        ORDER BY age(t.xmin) DESC OFFSET greatest($5 - 1, 0) LIMIT 1)
    UNION ALL
    (SELECT t.xmin AS xid FROM events t
        WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND $5::bigint > 2147483648
            AND EXISTS (SELECT 1 FROM sessions c
                WHERE c.app_name = $1 AND c.user_id = $2 AND c.id = $3 AND c.create_time < $4)
        ORDER BY age(t.xmin) DESC OFFSET greatest($5 - 2147483649, 0) LIMIT 1)
),
lost AS (
    SELECT 1 FROM events t
    WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND age(t.xmin) < 0 LIMIT 1
)
