//! All SQL texts of this crate. Values are always bound. The texts are constants, or are assembled once from constants.

use std::sync::LazyLock;

/// The texts of an append with one kind of fence, without and with shared state.
macro_rules! appends {
    ($fence:literal) => {
        [
            concat!(
                include_str!("../schema/append.sql"),
                include_str!($fence),
                include_str!("../schema/append_event.sql")
            ),
            concat!(
                include_str!("../schema/append.sql"),
                include_str!($fence),
                include_str!("../schema/append_shared.sql"),
                include_str!("../schema/append_event.sql")
            ),
        ]
    };
}

pub(crate) const DETECT: &str = include_str!("../schema/detect.sql");
pub(crate) const VERSION: &str = "SELECT value FROM adk_internal_metadata WHERE key = 'schema_version'";
pub(crate) const CREATE_TABLES: &str = include_str!("../schema/create.sql");

/// Appends after an event or the creation. The first text is for a delta without app and user keys, the second one
/// merges app or user state.
pub(crate) const APPEND: [&str; 2] = appends!("../schema/append_behind_event.sql");
/// The same texts for an append after a claim.
pub(crate) const APPEND_BEHIND_CLAIM: [&str; 2] = appends!("../schema/append_behind_claim.sql");
pub(crate) const CLAIM: &str = include_str!("../schema/claim.sql");
pub(crate) const FIND_STORED: &str = "SELECT event_data AS data, invocation_id, \"timestamp\" FROM events \
     WHERE app_name = $1 AND user_id = $2 AND session_id = $3 AND id = $4";
pub(crate) const REPLACE_EVENT: &str = "UPDATE events SET event_data = $5::text::jsonb \
     WHERE app_name = $1 AND user_id = $2 AND session_id = $3 AND id = $4";
/// Rewrites the session's other rows in the transaction that replaces an event. The ages of rows show the order of
/// appends. Rewriting makes the ages equal, so readers load the session again (see `load_since.sql`).
pub(crate) const TOUCH_EVENTS: &str = "UPDATE events SET invocation_id = invocation_id \
     WHERE app_name = $1 AND user_id = $2 AND session_id = $3 AND id <> $4";
/// Reads the states to which the operations of an append are applied.
pub(crate) const LOCK_STATES: &str = include_str!("../schema/lock_states.sql");
pub(crate) const FIND_REVISION: &str = include_str!("../schema/find_revision.sql");
/// Finds an event, as seen from a revision.
pub(crate) const FIND_EVENT: &str =
    concat!(include_str!("../schema/load_anchor.sql"), include_str!("../schema/find_event.sql"));

/// Selects the revision right after an event.
pub(crate) const FIND_BEHIND: &str = include_str!("../schema/find_behind.sql");

pub(crate) const CREATE_SESSION: &str = include_str!("../schema/create_session.sql");
pub(crate) const ANYTHING: &str = "SELECT 1 FROM sessions LIMIT 1";
/// Selects the creation time as text, because it may be infinite.
pub(crate) const FIND_CREATION: &str =
    "SELECT create_time::text AS create_time FROM sessions WHERE app_name = $1 AND user_id = $2 AND id = $3";
/// Deletes a session. The foreign key also deletes its events.
pub(crate) const DELETE_SESSION: &str =
    "DELETE FROM sessions WHERE app_name = $1 AND user_id = $2 AND id = $3 AND create_time::text = $4";

/// Loads the session without events.
pub(crate) const LOAD_NONE: &str = include_str!("../schema/load_head.sql");
pub(crate) const LOAD_ALL: &str =
    concat!(include_str!("../schema/load_head.sql"), include_str!("../schema/load_all.sql"));
pub(crate) const LOAD_NEWEST: &str =
    concat!(include_str!("../schema/load_head.sql"), include_str!("../schema/load_newest.sql"));

/// Loads the events that were appended after a revision.
pub(crate) const LOAD_SINCE: &str = concat!(
    include_str!("../schema/load_anchor.sql"),
    include_str!("../schema/load_head.sql"),
    include_str!("../schema/load_since.sql")
);

/// Returns the text that lists the sessions of an app: all of them, or those that a program has not noted as settled.
pub(crate) fn list_sessions(only_unsettled: bool) -> &'static str {
    static TEXTS: LazyLock<[String; 2]> = LazyLock::new(|| {
        let unsettled = format!("\n{}", include_str!("../schema/settled/unsettled.sql").trim_end());
        ["", &unsettled].map(|condition| include_str!("../schema/list_sessions.sql").replace("{unsettled}", condition))
    });
    &TEXTS[usize::from(only_unsettled)]
}

pub(crate) const CREATE_SETTLED: &str = include_str!("../schema/settled/create.sql");
pub(crate) const NOTE_SETTLED: &str = include_str!("../schema/settled/note.sql");
pub(crate) const LIST_APPS: &str = r#"SELECT DISTINCT app_name COLLATE "C" AS app_name FROM sessions ORDER BY 1"#;
pub(crate) const FIND_SESSIONS: &str = "SELECT user_id FROM sessions WHERE app_name = $1 AND id = $2 ORDER BY user_id";
pub(crate) const USER_STATE: &str = "SELECT state FROM user_states WHERE app_name = $1 AND user_id = $2";
pub(crate) const APP_STATE: &str = "SELECT state FROM app_states WHERE app_name = $1";
