(SELECT count(*) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE (indrelid, c.relname) IN (
            (to_regclass('pleach_inbox_{v}'), 'pleach_inbox_{v}_pkey'),
            (to_regclass('pleach_questions_{v}'), 'pleach_questions_{v}_pkey'),
            (to_regclass('pleach_questions_{v}'), 'pleach_questions_{v}_by_time'),
            (to_regclass('pleach_questions_{v}'), 'pleach_questions_{v}_by_assignee'))
        AND indisvalid) = 4
AND (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = to_regclass('pleach_inbox_{v}') AND attnum > 0 AND NOT attisdropped)
    = 'app_name user_id session_id created events questions'
AND (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = to_regclass('pleach_questions_{v}') AND attnum > 0 AND NOT attisdropped)
    = 'app_name user_id session_id place asked_at assignee event_id question_id'
