BEGIN IMMEDIATE;
SELECT
    (SELECT count(*) FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND id = ?3) AS taken,
    (SELECT count(*) FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND id = ?4) AS padded_taken,
    (SELECT state FROM app_states WHERE app_name = ?1) AS app_state,
    (SELECT state FROM user_states WHERE app_name = ?1 AND user_id = ?2) AS user_state
