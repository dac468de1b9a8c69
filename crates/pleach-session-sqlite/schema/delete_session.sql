BEGIN IMMEDIATE;
DELETE FROM events WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3;
DELETE FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND id = ?3;
COMMIT
