//! SQL for the events of one microsecond, in files whose times may be of two kinds.
//!
//! A file of the lite layout has numbers and a file of the v1 layout has texts, unless google-adk's other service
//! appended to it. The quick form compares times of the layout's own kind, with an index. The thorough form converts
//! both kinds, and is used only for sessions that have a time of the other kind.
// S65, S66.4

use pleach_session::prepare::CLAIMED;

use crate::layout::SqliteLayout;

/// A session's key and a time, as expressions of the enclosing statement.
#[derive(Clone, Copy)]
pub(crate) struct SessionTime<'s> {
    pub(crate) key: [&'s str; 3],
    pub(crate) at: &'s str,
}

impl SqliteLayout {
    /// Returns an expression that applies `select` to the events `t` of the given microsecond; `tail` may restrict
    /// and order them.
    pub(crate) fn events_at(self, select: &str, time: SessionTime<'_>, tail: &str) -> String {
        let SessionTime { key, at } = time;
        let own = is_of_session("t", key);
        let quick = self.quick("t.timestamp", at);
        let thorough = same("t.timestamp", at);
        let mixed = self.is_mixed(time);
        format!(
            "(CASE WHEN {mixed} THEN (SELECT {select} FROM events t WHERE {own} AND {thorough} {tail}) \
             ELSE (SELECT {select} FROM events t WHERE {own} AND {quick} {tail}) END)"
        )
    }

    /// Returns an expression for the ties of a revision at the time of the session row, including [`CLAIMED`] for a
    /// claimed session.
    pub(crate) fn ties(self, time: SessionTime<'_>) -> String {
        let own = is_of_session("t", time.key);
        let events = self.events_at("count(*)", time, "");
        format!(
            "coalesce(nullif({events}, 0), \
             (SELECT count(*) + CASE WHEN count(*) > 0 THEN {CLAIMED} ELSE 0 END FROM events t WHERE {own}))"
        )
    }

    /// Returns the condition that the time or an event of the session is of the other kind.
    pub(crate) fn is_mixed(self, time: SessionTime<'_>) -> String {
        let SessionTime { key, at } = time;
        let own = is_of_session("o", key);
        // Every number sorts before the empty text.
        let (kind, range) = match self {
            Self::Lite => ("text", ">= ''"),
            Self::V1 => ("real', 'integer", "< ''"),
        };
        format!("(typeof({at}) IN ('{kind}') OR EXISTS (SELECT 1 FROM events o WHERE {own} AND o.timestamp {range}))")
    }

    /// Compares two times. Numbers may differ by less than a microsecond, which revisions ignore, so they are compared
    /// like `time::instant`.
    fn quick(self, a: &str, b: &str) -> String {
        match self {
            Self::Lite => format!("{a} BETWEEN {b} - 1e-6 AND {b} + 1e-6 AND round({a} * 1e6) = round({b} * 1e6)"),
            Self::V1 => format!("{a} = {b}"),
        }
    }
}

fn is_of_session(table: &str, [app, user, session]: [&str; 3]) -> String {
    format!("{table}.app_name = {app} AND {table}.user_id = {user} AND {table}.session_id = {session}")
}

/// Returns the condition that two times of any kind are in the same microsecond.
pub(crate) fn same(a: &str, b: &str) -> String {
    format!("{} = {}", micros(a), micros(b))
}

/// Returns an expression for the microseconds since the epoch of a number, or of a text as google-adk writes it.
pub(crate) fn micros(time: &str) -> String {
    format!(
        "CASE typeof({time}) WHEN 'text' \
         THEN strftime('%s', substr({time}, 1, 19)) * 1000000 + CAST(substr({time} || '.000000', 21, 6) AS INTEGER) \
         ELSE CAST(round({time} * 1e6) AS INTEGER) END"
    )
}
