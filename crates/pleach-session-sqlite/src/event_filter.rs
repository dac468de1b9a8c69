//! [`EventFilter`]: the events of a session to load, and the query for them.

use pleach_core::{Revision, SessionKey, seconds};
use pleach_session::GetSessionConfig;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite};

use crate::layout::{SqliteLayout, TimeColumn};
use crate::sql::{Loads, Sql};
use crate::time;

pub(crate) type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

/// The events to load.
pub(crate) enum EventFilter {
    None,
    Events {
        /// The earliest time, as a number and as a text.
        // S66.4
        after: Option<(f64, String)>,
        newest: Option<i64>,
    },
    /// The events that were appended after the n-th event of a time.
    Since {
        time: TimeColumn,
        ties: u32,
    },
}

impl EventFilter {
    pub(crate) fn of(config: &GetSessionConfig, layout: SqliteLayout) -> Self {
        if config.num_recent_events == Some(0) {
            return Self::None;
        }
        // As in google-adk, zero means that there is no filter (S31); NaN means the same.
        let after = config.after_timestamp.filter(|&after| after != 0.0 && !after.is_nan());
        Self::Events {
            after: after.map(|after| (layout.rounded(after), time::to_text(after))),
            newest: config.num_recent_events.map(|count| i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }

    pub(crate) fn since(revision: Revision, layout: SqliteLayout) -> Self {
        Self::Since { time: layout.column(seconds(revision.micros)), ties: revision.ties }
    }

    /// Returns a query whose first row is the session, followed by its events in chunks.
    pub(crate) fn query<'q>(&'q self, sql: &'q Sql, key: &'q SessionKey) -> Query<'q> {
        match self {
            Self::None => bind_key(sqlx::query(AssertSqlSafe(sql.load_head.clone())), key),
            _ => self.bind(&sql.load, key),
        }
    }

    /// Returns the same query with one row for each event.
    pub(crate) fn query_rows<'q>(&'q self, sql: &'q Sql, key: &'q SessionKey) -> Query<'q> {
        self.bind(&sql.load_rows, key)
    }

    fn bind<'q>(&'q self, texts: &'q Loads, key: &'q SessionKey) -> Query<'q> {
        let text = match self {
            Self::None | Self::Events { after: None, newest: None } => &texts.all,
            Self::Events { after: None, newest: Some(_) } => &texts.newest,
            Self::Events { after: Some(_), newest: None } => &texts.after,
            Self::Events { after: Some(_), newest: Some(_) } => &texts.newest_after,
            Self::Since { .. } => &texts.since,
        };
        let query = bind_key(sqlx::query(AssertSqlSafe(text.clone())), key);
        match self {
            Self::None => query,
            Self::Since { time, ties } => query.bind(time.clone()).bind(i64::from(*ties)),
            Self::Events { after, newest } => {
                let query = match after {
                    Some((number, text)) => query.bind(number).bind(text.as_str()),
                    None => query,
                };
                match newest {
                    Some(newest) => query.bind(newest),
                    None => query,
                }
            }
        }
    }
}

pub(crate) fn bind_key<'q>(query: Query<'q>, key: &'q SessionKey) -> Query<'q> {
    query.bind(key.app_name.as_str()).bind(key.user_id.as_str()).bind(key.session_id.as_str())
}
