-- One simple query is one transaction. Openers of other processes wait here for each other; google-adk does not take this
-- lock, which is why the caller tries again when it meets a half-made object.
SELECT pg_advisory_xact_lock(7237958350283841);
CREATE TABLE IF NOT EXISTS adk_internal_metadata (
    key character varying(128) NOT NULL PRIMARY KEY,
    value character varying(256) NOT NULL
);
CREATE TABLE IF NOT EXISTS app_states (
    app_name character varying(128) NOT NULL PRIMARY KEY,
    state jsonb NOT NULL,
    update_time timestamp without time zone NOT NULL
);
CREATE TABLE IF NOT EXISTS user_states (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    state jsonb NOT NULL,
    update_time timestamp without time zone NOT NULL,
    PRIMARY KEY (app_name, user_id)
);
CREATE TABLE IF NOT EXISTS sessions (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    id character varying(128) NOT NULL,
    state jsonb NOT NULL,
    create_time timestamp without time zone NOT NULL,
    update_time timestamp without time zone NOT NULL,
    PRIMARY KEY (app_name, user_id, id)
);
CREATE TABLE IF NOT EXISTS events (
    id character varying(128) NOT NULL,
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    session_id character varying(128) NOT NULL,
    invocation_id character varying(256) NOT NULL,
    "timestamp" timestamp without time zone NOT NULL,
    event_data jsonb,
    PRIMARY KEY (id, app_name, user_id, session_id),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS idx_events_app_user_session_ts_id
    ON events (app_name, user_id, session_id, "timestamp" DESC, id DESC);
INSERT INTO adk_internal_metadata (key, value) VALUES ('schema_version', '1') ON CONFLICT (key) DO NOTHING;
