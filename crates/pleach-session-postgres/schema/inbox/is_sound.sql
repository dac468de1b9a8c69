(SELECT count(*) FROM pg_class WHERE pg_table_is_visible(oid)
    AND relname IN ('pleach_inbox', 'pleach_questions', 'pleach_questions_by_time',
        'pleach_questions_by_assignee', 'pleach_events_1')) = 5
AND (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = to_regclass('pleach_inbox') AND attnum > 0 AND NOT attisdropped)
    = 'app_name user_id session_id projection created events questions'
AND (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = to_regclass('pleach_questions') AND attnum > 0 AND NOT attisdropped)
    = 'app_name user_id session_id place asked_at assignee event_id question_id'
