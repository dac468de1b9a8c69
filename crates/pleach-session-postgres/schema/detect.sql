-- What is in the database: how many of our six objects, and the columns that tell the layouts apart.
SELECT
    (SELECT count(*) FROM unnest(ARRAY['adk_internal_metadata', 'app_states', 'user_states', 'sessions', 'events',
        'idx_events_app_user_session_ts_id']) AS name WHERE to_regclass(name) IS NOT NULL) AS present,
    to_regclass('adk_internal_metadata') IS NOT NULL AS has_metadata,
    to_regclass('sessions') IS NOT NULL AS has_sessions,
    to_regclass('events') IS NOT NULL AS has_events,
    EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('events') AND attname = 'actions') AS has_actions,
    EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('events') AND attname = 'event_data') AS has_event_data,
    (SELECT format_type(atttypid, NULL) FROM pg_attribute
        WHERE attrelid = to_regclass('sessions') AND attname = 'update_time') AS time_type
