,
a AS (
    INSERT INTO app_states AS t (app_name, state, update_time)
    SELECT s.app_name, $11::text::jsonb, now() AT TIME ZONE 'UTC' FROM s WHERE $11::text IS NOT NULL
    ON CONFLICT (app_name) DO UPDATE SET
        state = CASE WHEN jsonb_typeof(t.state) = 'object' THEN t.state || excluded.state END,
        update_time = excluded.update_time
    RETURNING 1
),
-- Counting a forces the order in which rows are locked: session, app, user, as google-adk does.
u AS (
    INSERT INTO user_states AS t (app_name, user_id, state, update_time)
    SELECT s.app_name, s.user_id, $12::text::jsonb, now() AT TIME ZONE 'UTC'
    FROM s, (SELECT count(*) FROM a) AS after_a WHERE $12::text IS NOT NULL
    ON CONFLICT (app_name, user_id) DO UPDATE SET
        state = CASE WHEN jsonb_typeof(t.state) = 'object' THEN t.state || excluded.state END,
        update_time = excluded.update_time
    RETURNING 1
)
