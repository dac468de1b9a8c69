-- Whether the tables and indexes of the inbox are there, as we make them.
SELECT (SELECT count(*) FROM sqlite_master
        WHERE name IN ('pleach_inbox', 'pleach_questions', 'pleach_questions_by_time', 'pleach_questions_by_assignee',
            'pleach_events_1')) = 5
    AND (SELECT group_concat(name, ' ') FROM pragma_table_info('pleach_inbox'))
        = 'app_name user_id session_id projection created events questions'
    AND (SELECT group_concat(name, ' ') FROM pragma_table_info('pleach_questions'))
        = 'app_name user_id session_id place asked_at assignee event_id question_id' AS is_sound
