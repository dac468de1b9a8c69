//! The statements that write several rows at once.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The largest number of rows in one execute. Smaller numbers are powers of two, so that few statements are prepared.
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

/// A statement that contains a list of rows.
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

/// The contents of one execute: the number of rows of each table, and whether it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) apps: usize,
    pub(super) users: usize,
    pub(super) sessions: usize,
    pub(super) events: usize,
    pub(super) commit: bool,
}

/// The texts that were created so far. sqlx finds their prepared statements by text.
#[derive(Debug, Default)]
pub(super) struct Texts {
    made: FxHashMap<Shape, Arc<str>>,
}

impl Texts {
    pub(super) fn of(&mut self, shape: Shape) -> Arc<str> {
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

/// Divides `count` rows into ranges of 64, 32, 16 … 1.
pub(super) fn ranges(count: usize) -> impl Iterator<Item = Range<usize>> {
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
