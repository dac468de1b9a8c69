-- The session, and both state rows (S65): merged into when there is something to merge, made when they are missing.
WITH s AS (
    INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time)
    VALUES ($1, $2, $3, $4::text::jsonb, $5, $5)
    ON CONFLICT (app_name, user_id, id) DO NOTHING
    RETURNING app_name, user_id, state
),
a AS (
    INSERT INTO app_states AS t (app_name, state, update_time)
    SELECT s.app_name, $6::text::jsonb, now() AT TIME ZONE 'UTC' FROM s
    WHERE $6::text <> '{}' OR NOT EXISTS (SELECT 1 FROM app_states WHERE app_name = $1)
    ON CONFLICT (app_name) DO UPDATE SET
        state = CASE WHEN jsonb_typeof(t.state) = 'object' THEN t.state || excluded.state END,
        update_time = excluded.update_time
    RETURNING t.state
),
-- Counting a forces the order in which rows are locked: session, app, user, as google-adk does.
u AS (
    INSERT INTO user_states AS t (app_name, user_id, state, update_time)
    SELECT s.app_name, s.user_id, $7::text::jsonb, now() AT TIME ZONE 'UTC'
    FROM s, (SELECT count(*) FROM a) AS after_a
    WHERE $7::text <> '{}' OR NOT EXISTS (SELECT 1 FROM user_states WHERE app_name = $1 AND user_id = $2)
    ON CONFLICT (app_name, user_id) DO UPDATE SET
        state = CASE WHEN jsonb_typeof(t.state) = 'object' THEN t.state || excluded.state END,
        update_time = excluded.update_time
    RETURNING t.state
)
SELECT (SELECT state FROM s) AS state,
    coalesce((SELECT state FROM a), (SELECT state FROM app_states WHERE app_name = $1)) AS app_state,
    coalesce((SELECT state FROM u), (SELECT state FROM user_states WHERE app_name = $1 AND user_id = $2)) AS user_state,
    -- What a repeated create finds when its first try was stored and the answer lost.
    (SELECT found.state FROM sessions found
        WHERE found.app_name = $1 AND found.user_id = $2 AND found.id = $3
            AND found.create_time = $5 AND found.update_time = $5 AND found.state = $4::text::jsonb) AS same_state
