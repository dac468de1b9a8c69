-- The fence, the merge and the event in one statement, which is one transaction and one round trip.
--
-- After waiting for the row's lock Postgres checks the conditions again on the new version of the row, but evaluates
-- sub-selects in the old snapshot: the count alone would not notice a writer whose event has the fence's own time. The
-- version of the row itself (xmin) does.
--
-- A state that is no object gives NULL, which the column refuses: nothing is stored.
WITH s AS (
    UPDATE sessions SET
        state = CASE WHEN $10::text IS NULL THEN state
            WHEN jsonb_typeof(state) = 'object' THEN state || $10::text::jsonb END,
        update_time = $6
    WHERE app_name = $1 AND user_id = $2 AND id = $3 AND update_time = $4
        AND xmin = (SELECT f.xmin FROM sessions f WHERE f.app_name = $1 AND f.user_id = $2 AND f.id = $3)
