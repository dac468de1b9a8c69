//! The session contract on an SQLite file of either layout.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

use pleach_session_sqlite::{SqliteLayout, SqliteOptions, SqliteSessionService};
use tempfile::TempDir;

async fn open(layout: SqliteLayout) -> (SqliteSessionService, TempDir) {
    let folder = TempDir::new().unwrap();
    let options = SqliteOptions::new().with_layout(layout);
    let service = SqliteSessionService::open_with(folder.path().join("sessions.db"), options).await.unwrap();
    assert_eq!(service.layout(), layout);
    (service, folder)
}

/// Opens four services on one file.
async fn open_four(layout: SqliteLayout) -> (Vec<SqliteSessionService>, TempDir) {
    let (first, folder) = open(layout).await;
    let mut services = vec![first];
    for _ in 1..4 {
        services.push(SqliteSessionService::open(folder.path().join("sessions.db")).await.unwrap());
    }
    (services, folder)
}

mod lite {
    use super::{SqliteLayout, open, open_four};

    pleach_contract::session_contract!(open(SqliteLayout::Lite));
    pleach_contract::shared_session_contract!(open_four(SqliteLayout::Lite));
}

mod v1 {
    use super::{SqliteLayout, open, open_four};

    pleach_contract::session_contract!(open(SqliteLayout::V1), v1);
    pleach_contract::shared_session_contract!(open_four(SqliteLayout::V1));
}
