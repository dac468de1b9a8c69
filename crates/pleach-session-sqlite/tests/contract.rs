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

mod lite {
    use super::{SqliteLayout, open};

    pleach_testkit::session_contract!(open(SqliteLayout::Lite));
}

mod v1 {
    use super::{SqliteLayout, open};

    pleach_testkit::session_contract!(open(SqliteLayout::V1), v1);
}
