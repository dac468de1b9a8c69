        AND NOT EXISTS (SELECT 1 FROM pleach_settled_1 n
            WHERE n.app_name = s.app_name AND n.user_id = s.user_id AND n.session_id = s.id AND n.program = $9
                AND n.created = s.create_time AND n.update_time = s.update_time
                AND n.ties = coalesce(nullif((SELECT count(*) FROM events t
                        WHERE t.app_name = s.app_name AND t.user_id = s.user_id AND t.session_id = s.id
                            AND t."timestamp" = s.update_time), 0),
                    (SELECT count(*) + CASE WHEN count(*) > 0 THEN 2147483648 ELSE 0 END FROM events t
                        WHERE t.app_name = s.app_name AND t.user_id = s.user_id AND t.session_id = s.id)))
