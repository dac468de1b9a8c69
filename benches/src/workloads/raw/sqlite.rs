//! SQLite through sqlx.
//!
//! Every execute is a trip to the connection's own thread and back, so trips are what the driver's rate depends on.

use std::path::Path;
use std::time::Duration;

use pleach::{BoxError, Event, SessionKey};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _, SqliteConnection};

use super::Append;
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

/// What one trip carries.
pub(super) struct Grouping {
    /// Transactions in a trip.
    pub(super) commits: usize,
    /// Events in a transaction.
    pub(super) events: usize,
}

impl Grouping {
    /// Writes the first events of all sessions, then the second ones.
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
        let mut text = String::new();
        for appends in appends.chunks(self.events) {
            text.push_str("BEGIN IMMEDIATE;");
            if appends.iter().any(|append| append.app_state.is_some()) {
                text.push_str(UPDATE_APP);
            }
            for _ in appends {
                text.push_str(UPDATE_SESSION);
                text.push_str(INSERT_EVENT);
            }
            text.push_str("COMMIT;");
        }
        // Made of constants.
        let mut query = sqlx::query(AssertSqlSafe(text));
        for appends in appends.chunks(self.events) {
            if let Some((append, state)) =
                appends.iter().rev().find_map(|append| Some((append, append.app_state.as_ref()?)))
            {
                query = query.bind(append.key.app_name.as_str()).bind(state).bind(append.event.timestamp());
            }
            for Append { key, event, data, state, .. } in appends {
                let (app, user, session) = (key.app_name.as_str(), key.user_id.as_str(), key.session_id.as_str());
                query = query.bind(state).bind(event.timestamp()).bind(app).bind(user).bind(session);
                query = query.bind(event.id().to_string()).bind(app).bind(user).bind(session);
                query = query.bind(event.invocation_id().as_str()).bind(event.timestamp()).bind(data);
            }
        }
        query.execute(connection).await.map(drop)
    }
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
pub(in super::super) struct Reader(SqliteConnection);

impl Reader {
    pub(super) async fn open(file: &Path) -> sqlx::Result<Self> {
        open(file).await.map(Self)
    }

    pub(super) async fn events(&mut self, key: &SessionKey, limit: i64) -> sqlx::Result<Vec<SqliteRow>> {
        let query = sqlx::query(EVENTS).bind(key.app_name.as_str()).bind(key.user_id.as_str());
        query.bind(key.session_id.as_str()).bind(limit).fetch_all(&mut self.0).await
    }

    pub(super) async fn head(&mut self, key: &SessionKey) -> sqlx::Result<()> {
        let query = sqlx::query(HEAD).bind(key.app_name.as_str()).bind(key.user_id.as_str());
        query.bind(key.session_id.as_str()).fetch_all(&mut self.0).await.map(drop)
    }
}

pub(super) fn parse(rows: &[SqliteRow]) -> Result<Vec<Event>, BoxError> {
    rows.iter().map(|row| Ok(serde_json::from_str(row.try_get(0)?)?)).collect()
}
