-- The sessions of the JSON array ?1 need nothing for the program ?2, at the revisions that it was seen at: only those that are
-- still at them are noted, with the row as it is. Of other programs one note is kept.
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS pleach_settled_1 (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    program TEXT NOT NULL,
    created,
    update_time,
    ties INTEGER NOT NULL,
    is_older INTEGER NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id, program),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
DELETE FROM pleach_settled_1 WHERE is_older AND (app_name, user_id, session_id, program) IN (
    SELECT n.app_name, n.user_id, n.session_id, n.program FROM json_each(?1) j CROSS JOIN pleach_settled_1 n
        ON n.app_name = j.value ->> 0 AND n.user_id = j.value ->> 1 AND n.session_id = j.value ->> 2
    WHERE n.program <> ?2);
UPDATE pleach_settled_1 SET is_older = 1 WHERE (app_name, user_id, session_id, program) IN (
    SELECT n.app_name, n.user_id, n.session_id, n.program FROM json_each(?1) j CROSS JOIN pleach_settled_1 n
        ON n.app_name = j.value ->> 0 AND n.user_id = j.value ->> 1 AND n.session_id = j.value ->> 2
    WHERE n.program <> ?2);
INSERT INTO pleach_settled_1 (app_name, user_id, session_id, program, created, update_time, ties, is_older)
SELECT s.app_name, s.user_id, s.id, ?2, s.create_time, s.update_time, j.value ->> 4, 0
FROM json_each(?1) j CROSS JOIN sessions s
    ON s.app_name = j.value ->> 0 AND s.user_id = j.value ->> 1 AND s.id = j.value ->> 2
WHERE {micros} = j.value ->> 3 AND {ties} = j.value ->> 4
ON CONFLICT (app_name, user_id, session_id, program) DO UPDATE
SET created = excluded.created, update_time = excluded.update_time, ties = excluded.ties, is_older = 0;
COMMIT
