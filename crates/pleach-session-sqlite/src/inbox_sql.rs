//! The SQL texts of the inbox.

use std::sync::Arc;

use crate::layout::SqliteLayout;

/// Which documents may concern questions. The first pattern looks for parts of `long_running_tool_ids`, `adk_request_`,
/// `function_response`, `INVOCATION_ABORTED` and `rewind_before_invocation_id` in one pass; few others have it, so that a plain
/// event costs no more than this pass. The last is the same without `function_response`, which counts only in an event of the
/// user's, in the spelling of either program.
///
/// No JSON function, because google-adk maintains the index, too: its SQLite may lack them, and they fail on a document
/// that is none.
const CONCERNS: &str = "event_data GLOB '*_[rbA][euB][snqfO][pnuoR][oierT]*' \
     AND (event_data GLOB '*\"author\":\"user\"*' OR event_data GLOB '*\"author\": \"user\"*' \
     OR event_data GLOB '*_[rbA][euB][nqfO][nuoR][ierT]*')";

/// The texts that depend on the layout or have a blank.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) create: Arc<str>,
    pub(crate) stale: Arc<str>,
    pub(crate) stale_of_user: Arc<str>,
    pub(crate) events: Arc<str>,
    pub(crate) upsert: Arc<str>,
    /// All open questions.
    pub(crate) all: Arc<str>,
    pub(crate) of_user: Arc<str>,
    pub(crate) of_assignee: Arc<str>,
    /// Those of a user that have an assignee.
    pub(crate) of_both: Arc<str>,
}

impl Inbox {
    pub(crate) fn of(layout: SqliteLayout) -> Self {
        let stale = include_str!("../schema/inbox/stale.sql").replace("{concerns}", CONCERNS);
        let events = include_str!("../schema/inbox/events.sql").replace("{tie}", layout.tie());
        let of_table = CONCERNS.replace("event_data", "e.event_data");
        let answer = include_str!("../schema/inbox/answer.sql");
        // Every number is used in every text: see the head of `sql`.
        let answer = |user: &str, assignee: &str| answer.replace("{user}", user).replace("{assignee}", assignee).into();
        let (any_user, any_assignee) = ("?2 IS NULL", "?3 IS NULL");
        let (this_user, this_assignee) = ("q.user_id = ?2", "q.assignee = ?3");
        Self {
            create: include_str!("../schema/inbox/create.sql").replace("{concerns}", CONCERNS).into(),
            stale: stale.replace("{user}", any_user).into(),
            stale_of_user: stale.replace("{user}", "user_id = ?2").into(),
            events: events.replace("{concerns}", &of_table).into(),
            upsert: include_str!("../schema/inbox/upsert.sql").replace("{concerns}", &of_table).into(),
            all: answer(any_user, any_assignee),
            of_user: answer(this_user, any_assignee),
            of_assignee: answer(any_user, this_assignee),
            of_both: answer(this_user, this_assignee),
        }
    }
}

/// Whether a statement found our tables or our index missing, or other than we make them.
pub(crate) fn is_missing(error: &sqlx::Error) -> bool {
    let Some(error) = error.as_database_error() else { return false };
    let text = error.message();
    ["no such table: pleach_", "no such index: pleach_", "no such column: "].iter().any(|start| text.contains(start))
}
