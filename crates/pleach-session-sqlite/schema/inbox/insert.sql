INSERT INTO pleach_questions_{v} (app_name, user_id, session_id, place, asked_at, assignee, event_id, question_id)
SELECT ?1, j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, j.value ->> 5, j.value ->> 6
FROM json_each(?2) j
