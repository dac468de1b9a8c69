-- What is in the database: how many of our six objects, and the columns that tell the layouts apart.
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
)
SELECT
    (SELECT count(*) FROM found) AS present,
    EXISTS (SELECT 1 FROM found WHERE relname = 'adk_internal_metadata') AS has_metadata,
    EXISTS (SELECT 1 FROM found WHERE relname = 'sessions') AS has_sessions,
    EXISTS (SELECT 1 FROM found WHERE relname = 'events') AS has_events,
    EXISTS (SELECT 1 FROM columns WHERE relname = 'events' AND attname = 'actions') AS has_actions,
    EXISTS (SELECT 1 FROM columns WHERE relname = 'events' AND attname = 'event_data') AS has_event_data,
    (SELECT format_type(atttypid, NULL) FROM columns WHERE relname = 'sessions' AND attname = 'update_time') AS time_type
