//! Every SQL text of this crate. Values are always bound.
//!
//! Two habits keep sqlx's binding honest. Numbered parameters run from `?1` without a gap in each statement, because a
//! gap is silently bound to something else; and texts made for several rows use anonymous `?` only.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub(crate) const DETECT: &str = include_str!("../schema/detect.sql");
pub(crate) const WAL: &str = "PRAGMA journal_mode = WAL";
pub(crate) const CREATE_TABLES: &str = concat!("BEGIN IMMEDIATE;\n", include_str!("../schema/create.sql"), "COMMIT");

const LOAD_HEAD: &str = include_str!("../schema/load_head.sql");
pub(crate) const LOAD_NONE: &str = LOAD_HEAD;
pub(crate) const LOAD_ALL: &str =
    concat!(include_str!("../schema/load_head.sql"), include_str!("../schema/load_all.sql"));
pub(crate) const LOAD_AFTER: &str =
    concat!(include_str!("../schema/load_head.sql"), include_str!("../schema/load_after.sql"));
pub(crate) const LOAD_NEWEST: &str =
    concat!(include_str!("../schema/load_head.sql"), include_str!("../schema/load_newest.sql"));
pub(crate) const LOAD_NEWEST_AFTER: &str =
    concat!(include_str!("../schema/load_head.sql"), include_str!("../schema/load_newest_after.sql"));
pub(crate) const LOAD_ROWS: &str = include_str!("../schema/load_rows.sql");

pub(crate) const LIST_PLACES: &str = include_str!("../schema/list_places.sql");
pub(crate) const LIST_STATES: &str = include_str!("../schema/list_states.sql");
pub(crate) const FIND_SESSIONS: &str = "SELECT user_id FROM sessions WHERE app_name = ?1 AND id = ?2 ORDER BY user_id";
pub(crate) const USER_STATE: &str = "SELECT state FROM user_states WHERE app_name = ?1 AND user_id = ?2";
pub(crate) const SESSION_EXISTS: &str = "SELECT 1 FROM sessions WHERE app_name = ?1 AND user_id = ?2 AND id = ?3";

pub(crate) const CREATE_BEGIN: &str = include_str!("../schema/create_begin.sql");
pub(crate) const INSERT_SESSION: &str = "INSERT INTO sessions \
     (app_name, user_id, id, state, create_time, update_time) VALUES (?1, ?2, ?3, ?4, ?5, ?5); COMMIT";
pub(crate) const DELETE_SESSION: &str = include_str!("../schema/delete_session.sql");

pub(crate) const BATCH_BEGIN: &str = include_str!("../schema/batch_begin.sql");
pub(crate) const FIND_EVENT: &str = include_str!("../schema/find_event.sql");
pub(crate) const COUNT_AT: &str = "SELECT count(*) AS count FROM events \
     WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND timestamp = ?4";
pub(crate) const TEXT_TIMES: &str = "SELECT rowid, timestamp, event_data FROM events \
     WHERE app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND typeof(timestamp) = 'text'";
pub(crate) const REPAIR_TIME: &str = "UPDATE events SET timestamp = ?1 WHERE rowid = ?2";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// The rows one execute carries at most. Smaller ones are powers of two, so that few texts are ever prepared.
const MOST_ROWS: usize = 64;

const UPDATE_SESSIONS: Rows = Rows {
    before: "UPDATE sessions SET state = coalesce(v.column1, sessions.state), update_time = v.column2 FROM (VALUES ",
    columns: 5,
    after: ") v WHERE sessions.app_name = v.column3 AND sessions.user_id = v.column4 AND sessions.id = v.column5",
};
const INSERT_EVENTS: Rows = Rows {
    before: "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data) VALUES ",
    columns: 7,
    after: "",
};
const UPSERT_APPS: Rows = Rows {
    before: "INSERT INTO app_states (app_name, state, update_time) VALUES ",
    columns: 3,
    after: " ON CONFLICT (app_name) DO UPDATE SET state = excluded.state, update_time = excluded.update_time",
};
const UPSERT_USERS: Rows = Rows {
    before: "INSERT INTO user_states (app_name, user_id, state, update_time) VALUES ",
    columns: 4,
    after: " ON CONFLICT (app_name, user_id) DO UPDATE SET state = excluded.state, update_time = excluded.update_time",
};

/// A statement with a list of rows in it.
struct Rows {
    before: &'static str,
    columns: usize,
    after: &'static str,
}

impl Rows {
    fn write(&self, text: &mut String, count: usize) {
        if count == 0 {
            return;
        }
        let row = format!("({})", vec!["?"; self.columns].join(", "));
        let rows = vec![row; count].join(", ");
        writeln!(text, "{}{rows}{};", self.before, self.after).expect("a String takes any text");
    }
}

/// What one execute writes: so many rows of each table, and whether the transaction ends with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) apps: usize,
    pub(crate) users: usize,
    pub(crate) sessions: usize,
    pub(crate) events: usize,
    pub(crate) commit: bool,
}

/// The texts made so far; sqlx keeps their prepared statements by text.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    made: FxHashMap<Shape, Arc<str>>,
}

impl Texts {
    pub(crate) fn of(&mut self, shape: Shape) -> Arc<str> {
        self.made.entry(shape).or_insert_with(|| make(shape)).clone()
    }
}

fn make(shape: Shape) -> Arc<str> {
    let mut text = String::new();
    UPSERT_APPS.write(&mut text, shape.apps);
    UPSERT_USERS.write(&mut text, shape.users);
    UPDATE_SESSIONS.write(&mut text, shape.sessions);
    INSERT_EVENTS.write(&mut text, shape.events);
    text.push_str(if shape.commit { "COMMIT" } else { "" });
    Arc::from(text)
}

/// Cuts `count` rows into ranges of 64, 32, 16 … 1.
pub(crate) fn ranges(count: usize) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let left = count - start;
        if left == 0 {
            return None;
        }
        let size = MOST_ROWS.min(1 << left.ilog2());
        start += size;
        Some(start - size..start)
    })
}
