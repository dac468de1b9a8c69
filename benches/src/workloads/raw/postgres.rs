//! Postgres through sqlx. Each append is one prepared statement, and each writer has its own connection.

use std::time::Duration;

use futures_util::future::try_join_all;
use pleach::{BoxError, Event, SessionKey};
use pleach_contract::own_tests::Schema;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::append::Append;
use crate::measure::{micros, now};

const APPEND: &str = r#"
WITH s AS (
    UPDATE sessions SET state = state || $4::text::jsonb, update_time = to_timestamp($5) AT TIME ZONE 'UTC'
    WHERE app_name = $1 AND user_id = $2 AND id = $3
)
INSERT INTO events (id, app_name, user_id, session_id, invocation_id, "timestamp", event_data)
VALUES ($6, $1, $2, $3, $7, to_timestamp($5) AT TIME ZONE 'UTC', $8::text::jsonb)"#;
const APPEND_WITH_APP: &str = r#"
WITH s AS (
    UPDATE sessions SET state = state || $4::text::jsonb, update_time = to_timestamp($5) AT TIME ZONE 'UTC'
    WHERE app_name = $1 AND user_id = $2 AND id = $3
), a AS (
    INSERT INTO app_states AS t (app_name, state, update_time) VALUES ($1, $9::text::jsonb, now() AT TIME ZONE 'UTC')
    ON CONFLICT (app_name) DO UPDATE SET state = t.state || excluded.state, update_time = excluded.update_time
)
INSERT INTO events (id, app_name, user_id, session_id, invocation_id, "timestamp", event_data)
VALUES ($6, $1, $2, $3, $7, to_timestamp($5) AT TIME ZONE 'UTC', $8::text::jsonb)"#;

const EVENTS: &str = r#"
SELECT event_data FROM
    (SELECT event_data, "timestamp", id FROM events WHERE app_name = $1 AND user_id = $2 AND session_id = $3
        ORDER BY "timestamp" DESC, id DESC LIMIT $4) newest
ORDER BY "timestamp", id"#;
const HEAD: &str = "SELECT update_time FROM sessions WHERE app_name = $1 AND user_id = $2 AND id = $3";

/// Connections that write at the same time and are kept from pass to pass.
pub(super) struct Writers(Vec<PgConnection>);

impl Writers {
    pub(super) async fn open(schema: &Schema, connections: usize) -> Result<Self, BoxError> {
        Ok(Self(try_join_all((0..connections).map(|_| schema.connect())).await?))
    }

    /// Shares the sessions among the connections.
    pub(super) async fn write(&mut self, sessions: Vec<Vec<Append>>) -> Result<(Duration, Vec<f64>), BoxError> {
        let mut shares: Vec<Vec<Append>> = self.0.iter().map(|_| Vec::new()).collect();
        for (index, session) in sessions.into_iter().enumerate() {
            shares[index % self.0.len()].extend(session);
        }
        let start = now();
        let writing = self.0.iter_mut().zip(shares).map(|(connection, share)| write(connection, share));
        let latencies = try_join_all(writing).await?;
        Ok((start.elapsed(), latencies.concat()))
    }
}

async fn write(connection: &mut PgConnection, appends: Vec<Append>) -> sqlx::Result<Vec<f64>> {
    let mut latencies = Vec::with_capacity(appends.len());
    for Append { key, event, data, state, app_state } in appends {
        let start = now();
        let query = sqlx::query(if app_state.is_some() { APPEND_WITH_APP } else { APPEND })
            .bind(key.app_name.as_str())
            .bind(key.user_id.as_str())
            .bind(key.session_id.as_str())
            .bind(state)
            .bind(event.timestamp())
            .bind(event.id().to_string())
            .bind(event.invocation_id().as_str())
            .bind(data);
        let query = if app_state.is_some() { query.bind(app_state) } else { query };
        query.execute(&mut *connection).await?;
        latencies.push(micros(start.elapsed()));
    }
    Ok(latencies)
}

/// A connection that reads.
pub(crate) struct Reader(PgConnection);

impl Reader {
    pub(super) async fn open(schema: &Schema) -> Result<Self, BoxError> {
        Ok(Self(schema.connect().await?))
    }

    pub(super) async fn events(&mut self, key: &SessionKey, limit: i64) -> sqlx::Result<Vec<PgRow>> {
        let query = sqlx::query(EVENTS).bind(key.app_name.as_str()).bind(key.user_id.as_str());
        query.bind(key.session_id.as_str()).bind(limit).fetch_all(&mut self.0).await
    }

    pub(super) async fn head(&mut self, key: &SessionKey) -> sqlx::Result<()> {
        let query = sqlx::query(HEAD).bind(key.app_name.as_str()).bind(key.user_id.as_str());
        query.bind(key.session_id.as_str()).fetch_all(&mut self.0).await.map(drop)
    }
}

pub(super) fn parse(rows: &[PgRow]) -> Result<Vec<Event>, BoxError> {
    let parse = |row: &PgRow| {
        // Binary jsonb is a version byte followed by the text.
        let text = row.try_get_raw(0)?.as_bytes()?.strip_prefix(&[1]).ok_or("unknown form of jsonb")?;
        Ok(serde_json::from_slice(text)?)
    };
    rows.iter().map(parse).collect()
}
