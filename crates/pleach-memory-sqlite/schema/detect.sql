-- What is there of google-adk's tables, and whether this SQLite can search full texts.
SELECT
    (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'adk_memory_metadata') AS metadata,
    (SELECT count(*) FROM pragma_table_info('memory_events')) AS columns,
    (SELECT count(*) FROM pragma_table_info('memory_events')
        WHERE name IN ('id', 'app_name', 'user_id', 'session_id', 'event_id', 'author', 'timestamp', 'content_json',
            'search_text')) AS known_columns,
    (SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = 'idx_memory_events_scope') AS scope_index,
    (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'memory_events_fts') AS full_text,
    (SELECT count(*) FROM sqlite_master
        WHERE type = 'trigger' AND name IN ('memory_events_ai', 'memory_events_ad', 'memory_events_au')) AS triggers,
    (SELECT count(*) FROM pragma_module_list WHERE name = 'fts5') AS module
