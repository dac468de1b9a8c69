-- The tables of the inbox: a projection of the log, made anew whenever one of them is missing or changed. One simple query is
-- one transaction, in which other openers wait. A reference to `sessions` needs a lock that appends wait for: it is held for
-- a moment, and not waited for any longer.
SET LOCAL lock_timeout = '20ms';
SELECT pg_advisory_xact_lock(7237958350283841);
DO $do$
BEGIN
    IF NOT ({is_sound}) THEN
        DROP TABLE IF EXISTS pleach_questions_{v};
        DROP TABLE IF EXISTS pleach_inbox_{v};
        -- A session that has an event which concerns questions, and what its rows in pleach_questions were made from: the
        -- creation of the session and the number of those events. Another number means that they are behind.
        CREATE TABLE pleach_inbox_{v} (
            app_name character varying(128) NOT NULL,
            user_id character varying(128) NOT NULL,
            session_id character varying(128) NOT NULL,
            created timestamp without time zone NOT NULL,
            events bigint NOT NULL,
            questions bigint NOT NULL,
            PRIMARY KEY (app_name, user_id, session_id),
            FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
        );
        -- An open question; what it asks is in its event.
        CREATE TABLE pleach_questions_{v} (
            app_name character varying(128) NOT NULL,
            user_id character varying(128) NOT NULL,
            session_id character varying(128) NOT NULL,
            place bigint NOT NULL,
            asked_at double precision NOT NULL,
            assignee text,
            event_id character varying(128) NOT NULL,
            question_id text NOT NULL,
            PRIMARY KEY (app_name, user_id, session_id, place),
            FOREIGN KEY (app_name, user_id, session_id) REFERENCES pleach_inbox_{v} (app_name, user_id, session_id)
                ON DELETE CASCADE
        );
        CREATE INDEX pleach_questions_{v}_by_time ON pleach_questions_{v} (app_name, asked_at);
        CREATE INDEX pleach_questions_{v}_by_assignee ON pleach_questions_{v} (app_name, left(assignee, 128), asked_at);
    END IF;
END
$do$
