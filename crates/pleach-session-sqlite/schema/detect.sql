-- The kind of the file: the declared type of the update times, the columns of events that identify the oldest layout,
-- and how many of the objects of either layout are there.
SELECT
    (SELECT count(*) FROM pragma_table_info('sessions')) AS session_columns,
    coalesce(
        (SELECT type FROM pragma_table_info('sessions') WHERE name = 'update_time'),
        (SELECT type FROM pragma_table_info('app_states') WHERE name = 'update_time'),
        (SELECT type FROM pragma_table_info('user_states') WHERE name = 'update_time')) AS time_type,
    (SELECT count(*) FROM pragma_table_info('events')) AS event_columns,
    (SELECT count(*) FROM pragma_table_info('events') WHERE name = 'actions') AS has_actions,
    (SELECT count(*) FROM pragma_table_info('events') WHERE name = 'event_data') AS has_event_data,
    (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'adk_internal_metadata') AS has_metadata,
    -- Columns that tables of these names have in both layouts.
    (SELECT count(*)
        FROM (VALUES ('sessions', 'app_name'), ('sessions', 'user_id'), ('sessions', 'id'), ('sessions', 'state'),
            ('sessions', 'create_time'), ('sessions', 'update_time'), ('app_states', 'app_name'), ('app_states', 'state'),
            ('app_states', 'update_time'), ('user_states', 'app_name'), ('user_states', 'user_id'),
            ('user_states', 'state'), ('user_states', 'update_time'), ('events', 'id'), ('events', 'app_name'),
            ('events', 'user_id'), ('events', 'session_id'), ('events', 'invocation_id'), ('events', 'timestamp')) known
            JOIN sqlite_master m ON m.type = 'table' AND m.name = known.column1
        WHERE known.column2 NOT IN (SELECT name FROM pragma_table_info(known.column1))) AS missing_columns,
    (SELECT count(*) FROM sqlite_master
        WHERE type = 'table' AND name IN ('app_states', 'user_states', 'sessions', 'events')) AS tables,
    (SELECT count(*) FROM sqlite_master
        WHERE name IN ('app_states', 'user_states', 'sessions', 'events', 'idx_events_app_user_session_ts_id')) AS present
