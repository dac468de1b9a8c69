//! The SQL texts of the inbox.

use std::sync::Arc;

use pleach_session::PROJECTION;

use crate::layout::SqliteLayout;

/// The condition for documents that may concern questions. The first pattern finds parts of `long_running_tool_ids`,
/// `adk_request_`, `function_response`, `INVOCATION_ABORTED` and `rewind_before_invocation_id` in one pass. Few
/// other documents match it, so a plain event costs no more than this pass. A `function_response` matters only in an
/// event of the user. So the document must also name the author `user`, as pleach or google-adk writes it, or match
/// the last pattern, which is the first one without `function_response`.
const CONCERNS: &str = "(e.event_data GLOB '*_[rbA][euB][snqfO][pnuoR][oierT]*' \
     AND (e.event_data GLOB '*\"author\":\"user\"*' OR e.event_data GLOB '*\"author\": \"user\"*' \
     OR e.event_data GLOB '*_[rbA][euB][nqfO][nuoR][ierT]*'))";

/// The condition for documents that may ask questions with a deadline.
const DEADLINES: &str = "(instr(e.event_data, '\"deadline\"') > 0 AND instr(e.event_data, 'adk_request_input') > 0)";

/// The SQL texts of our tables and indexes, as SQLite stores them.
pub(crate) const OBJECTS: &str =
    "SELECT sql FROM sqlite_master WHERE name LIKE 'pleach%' AND type IN ('table', 'index') AND sql IS NOT NULL";

/// The texts that depend on the layout or have a placeholder.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) drop: Arc<str>,
    /// One text for each table and index.
    pub(crate) create: Vec<Arc<str>>,
    pub(crate) find: Arc<str>,
    pub(crate) search: Arc<str>,
    pub(crate) add_events: Arc<str>,
    pub(crate) searched: Arc<str>,
    pub(crate) thin: Arc<str>,
    /// Selects the last event of the log.
    pub(crate) newest: Arc<str>,
    /// Selects the events after a place in the log that may ask questions with a deadline.
    pub(crate) deadlines: Arc<str>,
    pub(crate) stale: Arc<str>,
    pub(crate) stale_of_user: Arc<str>,
    pub(crate) events: Arc<str>,
    pub(crate) upsert: Arc<str>,
    pub(crate) delete: Arc<str>,
    pub(crate) insert: Arc<str>,
    /// Selects all open questions.
    pub(crate) all: Arc<str>,
    pub(crate) of_user: Arc<str>,
    pub(crate) of_assignee: Arc<str>,
    /// Selects a user's questions that have the given assignee.
    pub(crate) of_both: Arc<str>,
}

impl Inbox {
    pub(crate) fn of(layout: SqliteLayout) -> Self {
        let stale = versioned(include_str!("../schema/inbox/stale.sql"));
        let answer = versioned(include_str!("../schema/inbox/answer.sql"));
        // Every parameter number is used in every text: see the top of `sql`.
        let answer = |user: &str, assignee: &str| answer.replace("{user}", user).replace("{assignee}", assignee).into();
        let (any_user, any_assignee) = ("?2 IS NULL", "?3 IS NULL");
        let (this_user, this_assignee) = ("q.user_id = ?2", "q.assignee = ?3");
        Self {
            drop: versioned(include_str!("../schema/inbox/drop.sql")).into(),
            create: statements(&versioned(include_str!("../schema/inbox/create.sql"))),
            find: versioned(include_str!("../schema/inbox/find.sql")).into(),
            search: include_str!("../schema/inbox/search.sql").replace("{concerns}", CONCERNS).into(),
            add_events: versioned(include_str!("../schema/inbox/add_events.sql")).into(),
            searched: versioned(include_str!("../schema/inbox/searched.sql")).into(),
            thin: versioned(include_str!("../schema/inbox/thin.sql")).into(),
            newest: include_str!("../schema/inbox/newest.sql").into(),
            deadlines: include_str!("../schema/inbox/deadlines.sql").replace("{deadlines}", DEADLINES).into(),
            stale: stale.replace("{user}", any_user).into(),
            stale_of_user: stale.replace("{user}", "a.user_id = ?2").into(),
            events: versioned(include_str!("../schema/inbox/events.sql")).replace("{tie}", layout.tie()).into(),
            upsert: versioned(include_str!("../schema/inbox/upsert.sql")).into(),
            delete: versioned(include_str!("../schema/inbox/delete.sql")).into(),
            insert: versioned(include_str!("../schema/inbox/insert.sql")).into(),
            all: answer(any_user, any_assignee),
            of_user: answer(this_user, any_assignee),
            of_assignee: answer(any_user, this_assignee),
            of_both: answer(this_user, this_assignee),
        }
    }

    /// Returns `true` if all tables and indexes exist as we create them; `found` are the texts that SQLite stores.
    pub(crate) fn is_sound(&self, found: &[String]) -> bool {
        self.create.iter().all(|text| found.iter().any(|found| **found == **text))
    }
}

/// Fills in the version in the table names.
fn versioned(text: &str) -> String {
    text.replace("{v}", &PROJECTION.to_string())
}

/// Returns the statements of a text without the comments before them, as SQLite stores them.
fn statements(text: &str) -> Vec<Arc<str>> {
    let statement = |part: &str| {
        let lines = part.lines().skip_while(|line| line.is_empty() || line.starts_with("--"));
        Arc::from(lines.collect::<Vec<_>>().join("\n"))
    };
    text.trim_end().split(";\n").map(statement).collect()
}

/// Returns `true` if a statement found our tables missing, or different from how we create them.
pub(crate) fn is_missing(error: &sqlx::Error) -> bool {
    let Some(error) = error.as_database_error() else { return false };
    let text = error.message();
    ["no such table: pleach_", "no such column: ", "has no column named ", "ON CONFLICT clause does not match"]
        .iter()
        .any(|start| text.contains(start))
}
