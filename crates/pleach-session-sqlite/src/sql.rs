//! Every SQL text of this crate. Values are always bound.
//!
//! Two habits keep sqlx's binding honest. Numbered parameters run from `?1` without a gap in each statement, because a
//! gap is silently bound to something else; and texts made for several rows use anonymous `?` only.

use std::sync::Arc;

use crate::layout::SqliteLayout;

pub(crate) const DETECT: &str = include_str!("../schema/detect.sql");
pub(crate) const VERSION: &str = "SELECT value FROM adk_internal_metadata WHERE \"key\" = 'schema_version'";
pub(crate) const WAL: &str = "PRAGMA journal_mode = WAL";
pub(crate) const ANYTHING: &str = "SELECT 1 FROM sessions LIMIT 1";
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// The tables and the index of a layout, where they are missing.
pub(crate) fn create_tables(layout: SqliteLayout) -> &'static str {
    match layout {
        SqliteLayout::Lite => include_str!("../schema/lite/create.sql"),
        SqliteLayout::V1 => include_str!("../schema/v1/create.sql"),
    }
}

pub(crate) const LIST_STATES: &str = include_str!("../schema/list_states.sql");
pub(crate) const FIND_SESSIONS: &str = "SELECT user_id FROM sessions WHERE app_name = ?1 AND id = ?2 ORDER BY user_id";
pub(crate) const USER_STATE: &str = "SELECT state FROM user_states WHERE app_name = ?1 AND user_id = ?2";
pub(crate) const SESSION_EXISTS: &str = "SELECT 1 FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND id = ?3";

pub(crate) const CREATE_BEGIN: &str = include_str!("../schema/create_begin.sql");
pub(crate) const INSERT_SESSION: &str = "INSERT INTO sessions \
     (app_name, user_id, id, state, create_time, update_time) VALUES (?1, ?2, ?3, ?4, ?5, ?5); COMMIT";
pub(crate) const DELETE_SESSION: &str = include_str!("../schema/delete_session.sql");

pub(crate) const TEXT_TIMES: &str = "SELECT rowid, timestamp, event_data FROM events \
     WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND typeof(timestamp) = 'text'";
pub(crate) const REPAIR_TIME: &str = "UPDATE events SET timestamp = ?1 WHERE rowid = ?2";

/// The texts with blanks to fill in, made once when a file is opened; sqlx keeps their prepared statements by text.
#[derive(Debug)]
pub(crate) struct Sql {
    layout: SqliteLayout,
    pub(crate) batch_begin: Arc<str>,
    pub(crate) find_event: Arc<str>,
    pub(crate) count_at: Arc<str>,
    pub(crate) list_places: Arc<str>,
    /// The session without events.
    pub(crate) load_head: Arc<str>,
    pub(crate) load: Loads,
    /// The events of `load`, row by row.
    pub(crate) load_rows: Loads,
}

/// One text for each way to ask for events.
#[derive(Debug)]
pub(crate) struct Loads {
    /// All of them: the key is `?1` to `?3`.
    pub(crate) all: Arc<str>,
    /// Those at a time or later: `?4` as a number, `?5` as a text.
    pub(crate) after: Arc<str>,
    /// The newest `?4`.
    pub(crate) newest: Arc<str>,
    /// The newest `?6` of those at a time or later.
    pub(crate) newest_after: Arc<str>,
    /// Those appended behind the `?5`-th event of the microsecond `?4`, or behind the creation at that time.
    pub(crate) since: Arc<str>,
}

impl Sql {
    pub(crate) fn of(layout: SqliteLayout) -> Self {
        let load_head = fill_times(include_str!("../schema/load_head.sql"));
        let load_events = format!("{load_head}{}", include_str!("../schema/load_events.sql"));
        Self {
            layout,
            batch_begin: fill_times(include_str!("../schema/batch_begin.sql")).into(),
            find_event: fill_times(include_str!("../schema/find_event.sql")).into(),
            count_at: fill_times(include_str!("../schema/count_at.sql")).into(),
            list_places: fill_times(include_str!("../schema/list_places.sql")).into(),
            load_head: load_head.replace("{anchor}", "NULL").into(),
            load: Loads::of(layout, &load_events),
            load_rows: Loads::of(layout, include_str!("../schema/load_rows.sql")),
        }
    }

    pub(crate) fn layout(&self) -> SqliteLayout {
        self.layout
    }
}

impl Loads {
    fn of(layout: SqliteLayout, text: &str) -> Self {
        // A file may hold both numbers and texts (S66.4), and each is compared with its own kind: every number sorts
        // before the empty text.
        let after = "AND (timestamp >= ?4 AND timestamp < '' OR timestamp >= ?5)";
        let tie = layout.tie();
        let newest = |limit: &str| format!("ORDER BY timestamp DESC, {tie} DESC LIMIT {limit}");
        // Only the v1 layout lets the columns overrule the documents (S46).
        let ids = match layout {
            SqliteLayout::Lite => "NULL, NULL",
            SqliteLayout::V1 => "json_group_array(id), json_group_array(invocation_id)",
        };
        let text = text.replace("{ids}", ids);
        let fill = |wanted: &str, tie: &str, order: &str, anchor: &str| {
            let text = text.replace("{tie}", tie).replace("{order}", order);
            Arc::from(text.replace("{wanted}", wanted).replace("{anchor}", anchor))
        };
        let anchor = fill_times(include_str!("../schema/anchor.sql"));
        let since = format!("AND rowid > {anchor}");
        let fill_by_time = |wanted: &str| fill(wanted, tie, "timestamp, tie", "NULL");
        Self {
            all: fill_by_time(""),
            after: fill_by_time(after),
            newest: fill_by_time(&newest("?4")),
            newest_after: fill_by_time(&format!("{after} {}", newest("?6"))),
            since: fill(&since, "rowid", "tie", &anchor),
        }
    }
}

/// Replaces `{a at b}` by the condition that two time columns say the same microsecond.
///
/// Texts are equal or not. Numbers can differ by less than a microsecond, of which revisions know nothing, so they are
/// compared after rounding, as [`instant`](crate::time::instant) does it; the range in front of it lets the index help.
fn fill_times(text: &str) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (a, b), behind)) = marked(rest) {
        let bound = |sign: char| format!("CASE typeof({b}) WHEN 'text' THEN {b} ELSE {b} {sign} 1e-6 END");
        filled.push_str(before);
        filled.push_str(&format!("{a} >= {} AND {a} <= {}", bound('-'), bound('+')));
        filled.push_str(&format!(" AND (typeof({a}) = 'text' OR round({a} * 1e6) = round({b} * 1e6))"));
        rest = behind;
    }
    filled + rest
}

/// The text before the first `{a at b}`, the two columns in it, and the text behind it.
fn marked(text: &str) -> Option<(&str, (&str, &str), &str)> {
    let middle = text.find(" at ").filter(|&middle| text[..middle].contains('{'))?;
    let start = text[..middle].rfind('{')?;
    let end = middle + text[middle..].find('}')?;
    Some((&text[..start], (&text[start + 1..middle], &text[middle + 4..end]), &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_blank_is_left() {
        for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
            let sql = Sql::of(layout);
            let text = format!("{sql:?}");
            assert!(!text.contains(" at ") && !text.contains("{tie}") && !text.contains("{wanted}"), "{text}");
            assert!(sql.load.all.contains(&format!("{} AS tie", layout.tie())));
        }
    }
}
