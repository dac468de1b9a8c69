-- A row says that it is stored, and how many events had its time before. Why there is none is asked in another statement:
-- scans that only a refusal needs would have to be set up for every append.
INSERT INTO events (id, app_name, user_id, session_id, invocation_id, "timestamp", event_data)
SELECT $7, s.app_name, s.user_id, s.id, $8, $6, $9::text::jsonb FROM s
RETURNING (SELECT count(*) FROM events t
    WHERE t.app_name = $1 AND t.user_id = $2 AND t.session_id = $3 AND t."timestamp" = $6) AS before
