-- What operations are applied to, locked until the end of the transaction: session, app, user, as every append locks
-- them. The ties are counted before the lock is there: the append compares them again.
--
-- An insert that changes nothing on a conflict waits for other writers and returns the newest version of the row; it also makes
-- the row if it is missing, for which there would be nothing to lock.
WITH s AS (
    SELECT app_name, user_id, id, state, update_time FROM sessions
    WHERE app_name = $1 AND user_id = $2 AND id = $3
    FOR UPDATE
),
a AS (
    INSERT INTO app_states AS t (app_name, state, update_time)
    SELECT s.app_name, '{}'::jsonb, now() AT TIME ZONE 'UTC' FROM s WHERE $4
    ON CONFLICT (app_name) DO UPDATE SET app_name = excluded.app_name
    RETURNING t.state
),
-- Counting a forces the order.
u AS (
    INSERT INTO user_states AS t (app_name, user_id, state, update_time)
    SELECT s.app_name, s.user_id, '{}'::jsonb, now() AT TIME ZONE 'UTC'
    FROM s, (SELECT count(*) FROM a) AS after_a WHERE $5
    ON CONFLICT (app_name, user_id) DO UPDATE SET app_name = excluded.app_name
    RETURNING t.state
)
SELECT s.state AS own, (SELECT state FROM a) AS app, (SELECT state FROM u) AS user, s.update_time AS update_time,
    coalesce(nullif((SELECT count(*) FROM events t
            WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = s.update_time), 0),
        (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
            WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3)) AS ties
FROM s
