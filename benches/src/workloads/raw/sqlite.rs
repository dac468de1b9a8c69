//! SQLite through sqlx.
//!
//! Each call of the driver is a trip to the connection's thread and back, so the driver's rate depends on the number of
//! trips.

use std::path::Path;
use std::time::Duration;

use pleach::{BoxError, Event, SessionKey};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _, Sqlite, SqliteConnection};

use super::append::Append;
use crate::measure::{micros, now};

const UPDATE_APP: &str = "INSERT INTO app_states (app_name, state, update_time) VALUES (?, ?, ?)
    ON CONFLICT (app_name) DO UPDATE SET state = excluded.state, update_time = excluded.update_time;";
const UPDATE_SESSION: &str =
    "UPDATE sessions SET state = ?, update_time = ? WHERE app_name = ? AND user_id = ? AND id = ?;";
const INSERT_EVENT: &str =
    "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
    VALUES (?, ?, ?, ?, ?, ?, ?);";

const EVENTS: &str = "SELECT event_data FROM
    (SELECT event_data, timestamp, rowid AS row FROM events WHERE app_name = ? AND user_id = ? AND session_id = ?
        ORDER BY timestamp DESC, rowid DESC LIMIT ?)
    ORDER BY timestamp, row";
const HEAD: &str = "SELECT update_time FROM sessions WHERE app_name = ? AND user_id = ? AND id = ?";

async fn open(file: &Path) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .pragma("cache_size", "-16000")
        .disable_statement_logging()
        .connect()
        .await
}

/// The content of one trip.
pub(super) struct Grouping {
    /// The number of transactions in a trip.
    pub(super) commits: usize,
    /// The number of events in a transaction.
    pub(super) events: usize,
    /// Whether one statement writes all events of a transaction, and another one the changes of their sessions.
    pub(super) in_rows: bool,
}

impl Grouping {
    /// Writes the first event of every session, then the second event of every session, and so on.
    pub(super) async fn write(
        &self,
        file: &Path,
        sessions: Vec<Vec<Append>>,
    ) -> Result<(Duration, Vec<f64>), BoxError> {
        let mut connection = open(file).await?;
        let appends = in_turns(sessions);
        let mut latencies = Vec::new();
        let start = now();
        for appends in appends.chunks(self.commits * self.events) {
            let trip = now();
            self.send(&mut connection, appends).await?;
            if self.commits == 1 {
                latencies.extend(std::iter::repeat_n(micros(trip.elapsed()), appends.len()));
            }
        }
        Ok((start.elapsed(), latencies))
    }

    async fn send(&self, connection: &mut SqliteConnection, appends: &[Append]) -> sqlx::Result<()> {
        let text: String = appends.chunks(self.events).map(|appends| self.transaction(appends)).collect();
        // The text is made from constants.
        let mut query = sqlx::query(AssertSqlSafe(text));
        for appends in appends.chunks(self.events) {
            let shared = appends.iter().rev().find_map(|append| Some((append, append.app_state.as_ref()?)));
            if let Some((append, state)) = shared {
                query = query.bind(append.key.app_name.as_str()).bind(state).bind(append.event.timestamp());
            }
            // The sessions of a statement's rows come before the events of its rows.
            for appends in appends.chunks(if self.in_rows { self.events } else { 1 }) {
                query = appends.iter().fold(query, bind_session);
                query = appends.iter().fold(query, bind_event);
            }
        }
        query.execute(connection).await.map(drop)
    }

    fn transaction(&self, appends: &[Append]) -> String {
        let shared = appends.iter().any(|append| append.app_state.is_some());
        let app = if shared { UPDATE_APP } else { "" };
        let rows = appends.len();
        let writes = if self.in_rows {
            let (sessions, events) =
                (vec!["(?, ?, ?, ?, ?)"; rows].join(", "), vec!["(?, ?, ?, ?, ?, ?, ?)"; rows].join(", "));
            format!(
                "UPDATE sessions SET state = v.column1, update_time = v.column2 FROM (VALUES {sessions}) v
                    WHERE app_name = v.column3 AND user_id = v.column4 AND id = v.column5;
                INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
                    VALUES {events};"
            )
        } else {
            [UPDATE_SESSION, INSERT_EVENT].concat().repeat(rows)
        };
        format!("BEGIN IMMEDIATE;{app}{writes}COMMIT;")
    }
}

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

fn bind_session<'q>(query: Query<'q>, append: &'q Append) -> Query<'q> {
    let query = query.bind(append.state.as_str()).bind(append.event.timestamp());
    bind_key(query, &append.key)
}

fn bind_event<'q>(query: Query<'q>, append: &'q Append) -> Query<'q> {
    let event = &append.event;
    let query = bind_key(query.bind(event.id().to_string()), &append.key);
    query.bind(event.invocation_id().as_str()).bind(event.timestamp()).bind(append.data.as_str())
}

fn bind_key<'q>(query: Query<'q>, key: &'q SessionKey) -> Query<'q> {
    query.bind(key.app_name.as_str()).bind(key.user_id.as_str()).bind(key.session_id.as_str())
}

fn in_turns(sessions: Vec<Vec<Append>>) -> Vec<Append> {
    let mut sessions: Vec<_> = sessions.into_iter().map(Vec::into_iter).collect();
    let mut turns = Vec::new();
    loop {
        let before = turns.len();
        turns.extend(sessions.iter_mut().filter_map(Iterator::next));
        if turns.len() == before {
            return turns;
        }
    }
}

/// A connection that reads.
pub(crate) struct Reader(SqliteConnection);

impl Reader {
    pub(super) async fn open(file: &Path) -> sqlx::Result<Self> {
        open(file).await.map(Self)
    }

    pub(super) async fn events(&mut self, key: &SessionKey, limit: i64) -> sqlx::Result<Vec<SqliteRow>> {
        bind_key(sqlx::query(EVENTS), key).bind(limit).fetch_all(&mut self.0).await
    }

    pub(super) async fn head(&mut self, key: &SessionKey) -> sqlx::Result<()> {
        bind_key(sqlx::query(HEAD), key).fetch_all(&mut self.0).await.map(drop)
    }
}

pub(super) fn parse(rows: &[SqliteRow]) -> Result<Vec<Event>, BoxError> {
    rows.iter().map(|row| Ok(serde_json::from_str(row.try_get(0)?)?)).collect()
}
