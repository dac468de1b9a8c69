DELETE FROM pleach_questions_{v} q USING unnest($2::text[], $3::text[]) AS j (user_id, session_id)
WHERE q.app_name = $1 AND q.user_id = j.user_id AND q.session_id = j.session_id
