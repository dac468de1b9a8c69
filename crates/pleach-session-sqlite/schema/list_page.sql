-- The sessions of the app ?1 behind the place (?3, ?4, ?5), whose times are of the layout's own kind.
SELECT s.rowid AS place, user_id, id, update_time FROM sessions s
WHERE app_name = ?1 AND {user} AND {own} AND (update_time, user_id, id) > (?3, ?4, ?5){unsettled}
ORDER BY update_time, user_id, id LIMIT ?6
