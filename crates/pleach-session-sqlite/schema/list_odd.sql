-- All sessions of the app ?1 whose times are of another kind, or no times: few, and not in order.
SELECT s.rowid AS place, user_id, id, update_time FROM sessions s WHERE app_name = ?1 AND {user} AND NOT ({own}){unsettled}
