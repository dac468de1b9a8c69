-- The fence is that of an append: the last update is of the microsecond ?5, in which there are ?6 events. The new time ?4
-- must be that of no event: its revision would be the one right behind that event.
UPDATE sessions AS s SET update_time = ?4
WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.id = ?3
    AND {micros} = ?5 AND {ties} = ?6 AND {taken} = 0
