 AND NOT EXISTS (SELECT 1 FROM pleach_settled_1 n
    WHERE n.app_name = s.app_name AND n.user_id = s.user_id AND n.session_id = s.id AND n.program = {program}
        AND n.created IS s.create_time AND n.update_time IS s.update_time AND n.ties = {ties})
