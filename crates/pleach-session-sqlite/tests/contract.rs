//! The session contract on an SQLite file.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

use pleach_session_sqlite::SqliteSessionService;
use tempfile::TempDir;

async fn open() -> (SqliteSessionService, TempDir) {
    let folder = TempDir::new().unwrap();
    let service = SqliteSessionService::open(folder.path().join("sessions.db")).await.unwrap();
    (service, folder)
}

pleach_testkit::session_contract!(open());
