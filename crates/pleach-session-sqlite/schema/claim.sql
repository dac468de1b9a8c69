-- The fence is that of an append: the last update is of the microsecond ?5, and its ties are ?6. The new time ?4 must be that
-- of no event: its revision would be the one right behind that event. Returns whether the session is claimed, and the revision
-- that is stored then.
UPDATE sessions AS s SET update_time = ?4
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.id = ?3
    AND {micros} = ?5 AND {ties} = ?6 AND {taken} = 0;
SELECT changes() > 0 AS claimed, s.update_time AS update_time, {ties} AS ties
FROM sessions s
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.id = ?3;
