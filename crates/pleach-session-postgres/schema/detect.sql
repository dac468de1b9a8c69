-- The contents of the database: how many of the six objects exist, which of them lack columns, and the columns that identify
-- the layout.
--
-- Everything is read in the statement's own snapshot. to_regclass would also find tables that another opener commits
-- meanwhile, and find them without columns.
WITH found AS (
    SELECT oid, relname FROM pg_class
    WHERE relname IN ('adk_internal_metadata', 'app_states', 'user_states', 'sessions', 'events',
            'idx_events_app_user_session_ts_id')
        AND pg_table_is_visible(oid)
),
columns AS (
    SELECT relname, attname, atttypid FROM found JOIN pg_attribute ON attrelid = found.oid
),
used (relname, attnames) AS (VALUES
    ('adk_internal_metadata', ARRAY['key', 'value']),
    ('app_states', ARRAY['app_name', 'state', 'update_time']),
    ('user_states', ARRAY['app_name', 'user_id', 'state', 'update_time']),
    ('sessions', ARRAY['app_name', 'user_id', 'id', 'state', 'create_time', 'update_time']),
    ('events', ARRAY['id', 'app_name', 'user_id', 'session_id', 'invocation_id', 'timestamp', 'event_data'])
)
SELECT
    ARRAY(SELECT relname::text FROM found JOIN used USING (relname)
        WHERE NOT attnames <@ ARRAY(SELECT attname::text FROM columns WHERE columns.relname = found.relname)
        ORDER BY 1) AS lacking,
    (SELECT count(*) FROM found) AS present,
    (SELECT count(*) FROM found WHERE relname IN ('app_states', 'user_states', 'sessions', 'events')) AS tables,
    EXISTS (SELECT 1 FROM found WHERE relname = 'adk_internal_metadata') AS has_metadata,
    EXISTS (SELECT 1 FROM columns WHERE relname = 'events' AND attname = 'actions') AS has_actions,
    EXISTS (SELECT 1 FROM columns WHERE relname = 'events' AND attname = 'event_data') AS has_event_data,
    (SELECT format_type(atttypid, NULL) FROM columns WHERE relname = 'sessions' AND attname = 'update_time') AS time_type
