//! The SQL texts of the inbox.

use std::sync::Arc;

use pleach_session::PROJECTION;

use crate::layout::SqliteLayout;

/// Which documents may concern questions. The first pattern looks for parts of `long_running_tool_ids`, `adk_request_`,
/// `function_response`, `INVOCATION_ABORTED` and `rewind_before_invocation_id` in one pass; few others have it, so that a plain
/// event costs no more than this pass. The last is the same without `function_response`, which counts only in an event of the
/// user's, in the spelling of either program.
const CONCERNS: &str = "(e.event_data GLOB '*_[rbA][euB][snqfO][pnuoR][oierT]*' \
     AND (e.event_data GLOB '*\"author\":\"user\"*' OR e.event_data GLOB '*\"author\": \"user\"*' \
     OR e.event_data GLOB '*_[rbA][euB][nqfO][nuoR][ierT]*'))";

/// Which documents may ask questions with a deadline.
const DEADLINES: &str = "(instr(e.event_data, '\"deadline\"') > 0 AND instr(e.event_data, 'adk_request_input') > 0)";

/// The texts of tables and indexes, as SQLite keeps them.
pub(crate) const OBJECTS: &str =
    "SELECT sql FROM sqlite_master WHERE name LIKE 'pleach%' AND type IN ('table', 'index') AND sql IS NOT NULL";

/// The texts that depend on the layout or have a blank.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) drop: Arc<str>,
    /// A text for each table and index.
    pub(crate) create: Vec<Arc<str>>,
    pub(crate) find: Arc<str>,
    pub(crate) search: Arc<str>,
    pub(crate) add_events: Arc<str>,
    pub(crate) searched: Arc<str>,
    pub(crate) thin: Arc<str>,
    /// The last event of the log.
    pub(crate) newest: Arc<str>,
    /// What may ask questions with a deadline behind a place in the log.
    pub(crate) deadlines: Arc<str>,
    pub(crate) stale: Arc<str>,
    pub(crate) stale_of_user: Arc<str>,
    pub(crate) events: Arc<str>,
    pub(crate) upsert: Arc<str>,
    pub(crate) delete: Arc<str>,
    pub(crate) insert: Arc<str>,
    /// All open questions.
    pub(crate) all: Arc<str>,
    pub(crate) of_user: Arc<str>,
    pub(crate) of_assignee: Arc<str>,
    /// Those of a user that have an assignee.
    pub(crate) of_both: Arc<str>,
}

impl Inbox {
    pub(crate) fn of(layout: SqliteLayout) -> Self {
        let stale = versioned(include_str!("../schema/inbox/stale.sql"));
        let answer = versioned(include_str!("../schema/inbox/answer.sql"));
        // Every number is used in every text: see the head of `sql`.
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

    /// Whether all tables and indexes are there, as we make them; `found` are the texts that SQLite keeps.
    pub(crate) fn is_sound(&self, found: &[String]) -> bool {
        self.create.iter().all(|text| found.iter().any(|found| **found == **text))
    }
}

/// Fills in the version in the names of the tables.
fn versioned(text: &str) -> String {
    text.replace("{v}", &PROJECTION.to_string())
}

/// The statements of a text without the comments before them, as SQLite keeps them.
fn statements(text: &str) -> Vec<Arc<str>> {
    let statement = |part: &str| {
        let lines = part.lines().skip_while(|line| line.is_empty() || line.starts_with("--"));
        Arc::from(lines.collect::<Vec<_>>().join("\n"))
    };
    text.trim_end().split(";\n").map(statement).collect()
}

/// Whether a statement found our tables missing, or other than we make them.
pub(crate) fn is_missing(error: &sqlx::Error) -> bool {
    let Some(error) = error.as_database_error() else { return false };
    let text = error.message();
    ["no such table: pleach_", "no such column: ", "has no column named ", "ON CONFLICT clause does not match"]
        .iter()
        .any(|start| text.contains(start))
}
