INSERT INTO pleach_questions_{v} (app_name, user_id, session_id, place, asked_at, assignee, event_id, question_id)
SELECT $1, r.* FROM unnest($2::text[], $3::text[], $4::bigint[], $5::float8[], $6::text[], $7::text[], $8::text[]) r
