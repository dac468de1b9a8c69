-- The events up to which the log was searched, by the numbers of their rows. While such an event is there, every event that
-- is appended gets a higher number: SQLite continues behind the highest one. An event of a session that was deleted and made
-- again may have the same number and the same id, so a row goes with its session. An event without a session has no key here.
CREATE TABLE pleach_searched_{v} (
    place INTEGER PRIMARY KEY,
    app_name TEXT,
    user_id TEXT,
    session_id TEXT,
    event_id TEXT NOT NULL,
    created TEXT,
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
);

-- The events that may concern questions, whoever appended them.
CREATE TABLE pleach_events_{v} (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id, event_id),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
) WITHOUT ROWID;

-- A session that has such an event, and what its rows in pleach_questions were made from: the creation of the session and
-- the number of those events. Another number means that they are behind.
CREATE TABLE pleach_inbox_{v} (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    created TEXT NOT NULL,
    events INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
) WITHOUT ROWID;

-- An open question; what it asks is in its event.
CREATE TABLE pleach_questions_{v} (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    asked_at REAL NOT NULL,
    assignee TEXT,
    event_id TEXT NOT NULL,
    question_id TEXT NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id, place),
    FOREIGN KEY (app_name, user_id, session_id) REFERENCES pleach_inbox_{v} (app_name, user_id, session_id)
        ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX pleach_questions_{v}_by_time ON pleach_questions_{v} (app_name, asked_at);

CREATE INDEX pleach_questions_{v}_by_assignee ON pleach_questions_{v} (app_name, assignee, asked_at)
