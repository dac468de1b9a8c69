-- One simple query is one transaction. A reference to `sessions` needs a lock that appends wait for: it is held for a moment, and
-- not waited for any longer.
SET LOCAL lock_timeout = '20ms';
SELECT pg_advisory_xact_lock(7237958350283841);
-- Sessions about which a program needs to do nothing as long as their rows are these. Of other programs one note is kept.
CREATE TABLE IF NOT EXISTS pleach_settled_1 (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    session_id character varying(128) NOT NULL,
    program text NOT NULL,
    created timestamp without time zone NOT NULL,
    update_time timestamp without time zone NOT NULL,
    ties bigint NOT NULL,
    is_older boolean NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id, program),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
);
