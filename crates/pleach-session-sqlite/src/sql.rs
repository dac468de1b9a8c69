//! All SQL texts of this crate. Values are always bound.
//!
//! Two rules keep sqlx's binding correct. In each statement, numbered parameters run from `?1` without a gap, because a
//! gap would silently be bound to something else. Texts for several rows use only anonymous `?`.

use std::sync::Arc;

use pleach_session::prepare::CLAIMED;

use crate::inbox_sql::Inbox;
use crate::layout::SqliteLayout;
use crate::listing_sql::{Listing, OF_ROW};
use crate::session_time::{SessionTime, micros, same};

pub(crate) const DETECT: &str = include_str!("../schema/detect.sql");
pub(crate) const VERSION: &str = "SELECT value FROM adk_internal_metadata WHERE \"key\" = 'schema_version'";
pub(crate) const WAL: &str = "PRAGMA journal_mode = WAL";
pub(crate) const ANYTHING: &str = "SELECT 1 FROM sessions LIMIT 1";
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// Returns the text that creates the missing tables and the index of a layout.
pub(crate) fn create_tables(layout: SqliteLayout) -> &'static str {
    match layout {
        SqliteLayout::Lite => include_str!("../schema/lite/create.sql"),
        SqliteLayout::V1 => include_str!("../schema/v1/create.sql"),
    }
}

pub(crate) const LIST_APPS: &str = include_str!("../schema/list_apps.sql");
pub(crate) const FIND_SESSIONS: &str = "SELECT user_id FROM sessions WHERE app_name = ?1 AND id = ?2 ORDER BY user_id";
pub(crate) const USER_STATE: &str = "SELECT state FROM user_states WHERE app_name = ?1 AND user_id = ?2";
pub(crate) const APP_STATE: &str = "SELECT state FROM app_states WHERE app_name = ?1";
pub(crate) const SESSION_EXISTS: &str = "SELECT 1 FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND id = ?3";

pub(crate) const CREATE_BEGIN: &str = include_str!("../schema/create_begin.sql");
pub(crate) const INSERT_SESSION: &str = "INSERT INTO sessions \
     (app_name, user_id, id, state, create_time, update_time) VALUES (?1, ?2, ?3, ?4, ?5, ?5); COMMIT";
pub(crate) const DELETE_SESSION: &str = include_str!("../schema/delete_session.sql");

/// Pages that become free are overwritten with zeros as well.
pub(crate) const SECURE_DELETE: &str = "PRAGMA secure_delete = ON";
/// The setting with which the connection is opened.
pub(crate) const QUICK_DELETE: &str = "PRAGMA secure_delete = FAST";
/// Copies the write-ahead log into the file and empties it, unless a reader needs it.
pub(crate) const EMPTY_LOG: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
pub(crate) const EVENT_ROW: &str = "SELECT coalesce(event_data, '') AS data, id AS ids, invocation_id AS invocations, \
     timestamp AS update_time FROM events WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND id = ?4";
pub(crate) const REPLACE_EVENT: &str =
    "UPDATE events SET event_data = ?5 WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND id = ?4";

pub(crate) const TEXT_TIMES: &str = "SELECT rowid, timestamp, event_data FROM events \
     WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND typeof(timestamp) = 'text'";
pub(crate) const REPAIR_SESSION: &str =
    "UPDATE sessions SET update_time = ?4 WHERE app_name = ?1 AND user_id = ?2 AND id = ?3";
pub(crate) const REPAIR_TIME: &str = "UPDATE events SET timestamp = ?1 WHERE rowid = ?2";

/// The texts whose placeholders are filled in once when a file is opened. sqlx finds their prepared statements by text.
#[derive(Debug)]
pub(crate) struct Sql {
    layout: SqliteLayout,
    pub(crate) batch_begin: Arc<str>,
    /// The same read inside the append's transaction.
    pub(crate) batch_read: Arc<str>,
    pub(crate) find_event: Arc<str>,
    /// Selects the revision right after the event `?4`: the event's time, and the number of events up to it with
    /// that time.
    pub(crate) find_behind: Arc<str>,
    pub(crate) count_at: Arc<str>,
    pub(crate) claim: Arc<str>,
    /// The same claim inside a transaction.
    pub(crate) claim_within: Arc<str>,
    pub(crate) list_states: Arc<str>,
    pub(crate) inbox: Inbox,
    pub(crate) listing: Listing,
    /// Notes sessions as settled.
    pub(crate) note_settled: Arc<str>,
    /// Selects the revision of a session.
    pub(crate) revision: Arc<str>,
    /// Selects the session without events.
    pub(crate) load_head: Arc<str>,
    pub(crate) load: Loads,
    /// The same loads with one row for each event.
    pub(crate) load_rows: Loads,
}

/// An expression for a document or, if the document is long, for a mark, its row number and its id. SQLite builds no
/// text of more than a billion bytes, and a sort should not move long values. `octet_length` reads only the header of a
/// row.
const DOCUMENT: &str = "CASE WHEN octet_length(event_data) > 131072 THEN char(31) || rowid || ' ' || hex(id) ELSE coalesce(event_data, '') END";
/// Selects a document that was left out, in the session `?1` to `?3`.
pub(crate) const LONG_DOCUMENT: &str = "SELECT coalesce(event_data, '') AS data FROM events \
     WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND rowid = ?4 AND hex(id) = ?5";

/// One text for each kind of event filter.
#[derive(Debug)]
pub(crate) struct Loads {
    /// All events; the key is `?1` to `?3`.
    pub(crate) all: Arc<str>,
    /// The events at or after a time: `?4` as a number, `?5` as a text.
    pub(crate) after: Arc<str>,
    /// The newest `?4` events.
    pub(crate) newest: Arc<str>,
    /// The newest `?6` of the events at or after a time.
    pub(crate) newest_after: Arc<str>,
    /// The events appended after the `?5`-th event of the microsecond `?4`, or after the creation at that time.
    pub(crate) since: Arc<str>,
}

/// The parameters of a load: the session's key and a time.
const ASKED: SessionTime<'_> = SessionTime { key: ["?1", "?2", "?3"], at: "?4" };

impl Sql {
    pub(crate) fn of(layout: SqliteLayout) -> Self {
        let ties = layout.ties(OF_ROW);
        let load_head = include_str!("../schema/load_head.sql").replace("{ties}", &ties);
        let batch_read = include_str!("../schema/batch_read.sql").replace("{ties}", &ties);
        let batch_read = batch_read.replace("{mixed}", &layout.is_mixed(OF_ROW));
        let up_to_it = SessionTime { key: ["e.app_name", "e.user_id", "e.session_id"], at: "e.timestamp" };
        let find_event = include_str!("../schema/find_event.sql")
            .replace("{ties}", &layout.events_at("count(*)", up_to_it, "AND t.rowid <= e.rowid"))
            .replace("{anchor}", &anchor(layout));
        let find_behind = format!(
            "SELECT e.timestamp AS timestamp, {} AS ties FROM events e \
             WHERE e.app_name = ?1 AND e.user_id = ?2 AND e.session_id = ?3 AND e.id = ?4",
            layout.events_at("count(*)", up_to_it, "AND t.rowid <= e.rowid")
        );
        let claim = include_str!("../schema/claim.sql")
            .replace("{ties}", &ties)
            .replace("{micros}", &micros("s.update_time"))
            .replace("{taken}", &layout.events_at("count(*)", ASKED, ""));
        Self {
            layout,
            find_behind: find_behind.into(),
            batch_begin: format!("{BEGIN};\n{batch_read}").into(),
            batch_read: batch_read.into(),
            find_event: find_event.into(),
            claim: format!("{BEGIN};\n{claim}{COMMIT}").into(),
            claim_within: claim.into(),
            count_at: format!("SELECT {} AS count", layout.events_at("count(*)", ASKED, "")).into(),
            inbox: Inbox::of(layout),
            listing: Listing::of(layout),
            note_settled: include_str!("../schema/settled/note.sql")
                .replace("{micros}", &micros("s.update_time"))
                .replace("{ties}", &ties)
                .into(),
            revision: format!(
                "SELECT s.update_time AS update_time, {ties} AS ties FROM sessions s \
                 WHERE s.app_name = ?1 AND s.user_id = ?2 AND s.id = ?3"
            )
            .into(),
            list_states: include_str!("../schema/list_states.sql").replace("{ties}", &ties).into(),
            load: Loads::of(layout, &format!("{load_head}{}", include_str!("../schema/load_events.sql"))),
            load_rows: Loads::of(layout, &format!("{load_head}{}", include_str!("../schema/load_rows.sql"))),
            load_head: load_head.replace("{anchor}", "NULL").into(),
        }
    }

    pub(crate) fn layout(&self) -> SqliteLayout {
        self.layout
    }
}

/// Returns an expression for the row of the last event that the owner of a revision has seen, or 0 for the creation;
/// NULL if neither exists any more. Rows are numbered in the order of appends, and a claim has the number of events
/// before it.
fn anchor(layout: SqliteLayout) -> String {
    let event = layout.events_at("t.rowid", ASKED, "ORDER BY t.rowid LIMIT 1 OFFSET ?5 - 1");
    let created = same("c.create_time", "?4");
    let created_before = format!("({}) < ({})", micros("c.create_time"), micros("?4"));
    let session = "SELECT 0 FROM sessions c WHERE c.app_name = ?1 AND c.user_id = ?2 AND c.id = ?3";
    let before_claim = format!(
        "(SELECT t.rowid FROM events t WHERE t.app_name = ?1 AND t.user_id = ?2 AND t.session_id = ?3 \
         AND EXISTS ({session} AND {created_before}) ORDER BY t.rowid LIMIT 1 OFFSET ?5 - {CLAIMED} - 1)"
    );
    format!(
        "(CASE WHEN ?5 > {CLAIMED} THEN {before_claim} WHEN ?5 > 0 THEN {event} ELSE ({session} AND {created}) END)"
    )
}

impl Loads {
    fn of(layout: SqliteLayout, text: &str) -> Self {
        // A file may hold both numbers and texts (S66.4). Each is compared with its own kind, because every number
        // sorts before the empty text.
        let after = "AND (timestamp >= ?4 AND timestamp < '' OR timestamp >= ?5)";
        let tie = layout.tie();
        let newest = |limit: &str| format!("ORDER BY timestamp DESC, {tie} DESC LIMIT {limit}");
        // Only in the v1 layout do the columns take precedence over the documents (S46).
        let ids = match layout {
            SqliteLayout::Lite => "NULL, NULL",
            SqliteLayout::V1 => "json_group_array(id), json_group_array(invocation_id)",
        };
        let text = text.replace("{ids}", ids).replace("{data}", DOCUMENT);
        let fill = |wanted: &str, tie: &str, order: &str, anchor: &str| {
            let text = text.replace("{tie}", tie).replace("{order}", order);
            Arc::from(text.replace("{wanted}", wanted).replace("{anchor}", anchor))
        };
        let anchor = anchor(layout);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_placeholder_is_left() {
        for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
            let sql = Sql::of(layout);
            let text = format!("{sql:?}");
            assert!(
                ["{ti", "{wa", "{an", "{id", "{or", "{mi", "{da", "{us", "{ow", "{un", "{pr"]
                    .iter()
                    .all(|blank| !text.contains(blank)),
                "{text}"
            );
            assert!(sql.load.all.contains(&format!("{} AS tie", layout.tie())));
        }
    }
}
