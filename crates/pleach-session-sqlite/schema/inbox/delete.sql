DELETE FROM pleach_questions_{v}
WHERE app_name = ?1 AND (user_id, session_id) IN (SELECT j.value ->> 0, j.value ->> 1 FROM json_each(?2) j)
