//! Tests that need a database: layouts, google-adk's rows, locks of other processes, connections that break.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod cuts;
mod deadlines;
mod faults;
mod golden;
mod inbox;
mod large;
mod layout;
mod poolers;
mod proxy;
mod repeats;
mod rows;
mod sharing;
#[path = "../support/mod.rs"]
mod support;
mod tls;

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use pleach_core::SessionKey;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use support::Database;

impl Database {
    /// The name of the schema.
    fn schema(&self) -> &str {
        self.schema.name()
    }

    /// Restores the data that google-adk wrote.
    async fn restore_golden(&self) {
        self.schema.restore(include_str!("../golden/adk_postgres.sql")).await.unwrap();
    }

    /// Returns a plain connection to the schema, like that of another program.
    async fn raw(&self) -> PgConnection {
        let url = self.url().replace(&format!("application_name={}", self.schema()), "application_name=other");
        PgConnection::connect(&url).await.unwrap()
    }

    /// Runs statements as another program would.
    async fn run(&self, sql: &str) {
        let mut connection = self.raw().await;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// Returns the texts that a query selects, row by row.
    async fn texts(&self, sql: &str) -> Vec<String> {
        let mut connection = self.raw().await;
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
        rows.iter().map(|row| row.try_get::<Option<String>, _>(0).unwrap().unwrap_or_default()).collect()
    }

    /// Waits until this many connections of the service wait for a lock.
    async fn until_waiting(&self, count: usize) {
        let sql = format!(
            "SELECT pid::text FROM pg_stat_activity WHERE application_name = '{}' AND wait_event_type = 'Lock'",
            self.schema()
        );
        while self.texts(&sql).await.len() < count {}
    }
}

fn key(id: &str) -> SessionKey {
    SessionKey::new("app", "user", id)
}

/// Polls a future once.
async fn is_pending(future: &mut (impl Future + Unpin)) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx).is_pending())).await
}
