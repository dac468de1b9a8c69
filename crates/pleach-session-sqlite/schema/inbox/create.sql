-- The tables of the inbox: a projection of the log, made anew whenever they are missing. They are google-adk's in no layout.
DROP TABLE IF EXISTS pleach_questions;
DROP TABLE IF EXISTS pleach_inbox;
-- A session that has an event which concerns questions, and what its rows in pleach_questions were made from: the version
-- of the rule, the creation of the session and the number of those events. Another number means that they are behind.
CREATE TABLE pleach_inbox (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    projection INTEGER NOT NULL,
    created TEXT NOT NULL,
    events INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
) WITHOUT ROWID;
-- An open question; what it asks is in its event.
CREATE TABLE pleach_questions (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    asked_at REAL NOT NULL,
    assignee TEXT,
    event_id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id, place),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES pleach_inbox (app_name, user_id, session_id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX pleach_questions_by_time ON pleach_questions (app_name, asked_at);
CREATE INDEX pleach_questions_by_assignee ON pleach_questions (app_name, assignee, asked_at);
-- The events that may concern questions, whoever appends them.
CREATE INDEX IF NOT EXISTS pleach_events_1 ON events (app_name, user_id, session_id) WHERE {concerns}
