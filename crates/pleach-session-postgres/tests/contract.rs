//! The session contract on a Postgres database.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod support;

use pleach_session_postgres::PostgresSessionService;
use support::Database;

async fn open() -> Option<(PostgresSessionService, Database)> {
    let database = Database::new().await?;
    Some((database.open().await, database))
}

pleach_testkit::session_contract!(open(), v1);
