//! The session contract over every backend, with every possible value stored outside the rows.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

use std::sync::Arc;

use pleach_artifact::{FileArtifactService, InMemoryArtifactService};
use pleach_contract::TestClock;
use pleach_contract::own_tests::Schema;
use pleach_payloads::PayloadSessions;
use pleach_session_inmemory::InMemorySessionService;
use pleach_session_postgres::PostgresSessionService;
use pleach_session_sqlite::{SqliteLayout, SqliteOptions, SqliteSessionService};
use tempfile::TempDir;

async fn in_memory() -> (PayloadSessions, ()) {
    let artifacts = InMemoryArtifactService::with_clock(Arc::new(TestClock::new()));
    (PayloadSessions::new(Arc::new(InMemorySessionService::new()), Arc::new(artifacts)).with_threshold(0), ())
}

async fn sqlite(layout: SqliteLayout) -> (PayloadSessions, TempDir) {
    let folder = TempDir::new().unwrap();
    let options = SqliteOptions::new().with_layout(layout);
    let sessions = SqliteSessionService::open_with(folder.path().join("sessions.db"), options).await.unwrap();
    let artifacts =
        FileArtifactService::open(folder.path().join("artifacts"), Arc::new(TestClock::new())).await.unwrap();
    (PayloadSessions::new(Arc::new(sessions), Arc::new(artifacts)).with_threshold(0), folder)
}

async fn postgres() -> Option<(PayloadSessions, Schema)> {
    let schema = Schema::for_test().await?;
    let sessions = PostgresSessionService::open(&schema.url()).await.unwrap();
    let artifacts = InMemoryArtifactService::with_clock(Arc::new(TestClock::new()));
    Some((PayloadSessions::new(Arc::new(sessions), Arc::new(artifacts)).with_threshold(0), schema))
}

mod memory {
    pleach_contract::session_contract!(super::in_memory());
}

mod sqlite_lite {
    use super::{SqliteLayout, sqlite};

    pleach_contract::session_contract!(sqlite(SqliteLayout::Lite));
}

mod sqlite_v1 {
    use super::{SqliteLayout, sqlite};

    pleach_contract::session_contract!(sqlite(SqliteLayout::V1), v1);
}

mod postgres_v1 {
    pleach_contract::session_contract!(super::postgres(), v1);
}
