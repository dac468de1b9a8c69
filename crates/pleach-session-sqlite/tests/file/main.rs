//! Tests that need a file: layouts, faults, rows of other programs, locks of other processes.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod faults;
mod golden;
mod inbox;
mod large;
mod layout;
mod odd_rows;
mod per_agent;
mod read_only;
mod redact;
mod rows;
mod sharing;

use pleach_core::SessionKey;
use pleach_session_sqlite::{SqliteLayout, SqliteOptions, SqliteSessionService};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _, SqliteConnection};
use tempfile::TempDir;

const LAYOUTS: [SqliteLayout; 2] = [SqliteLayout::Lite, SqliteLayout::V1];

/// A folder, and the name of a file in it that does not exist yet.
struct Place {
    folder: TempDir,
    layout: SqliteLayout,
}

impl Place {
    fn new() -> Self {
        Self::of(SqliteLayout::Lite)
    }

    /// A place whose file gets this layout.
    fn of(layout: SqliteLayout) -> Self {
        Self { folder: TempDir::new().unwrap(), layout }
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions::new().with_layout(self.layout)
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("sessions.db")
    }

    async fn open(&self) -> SqliteSessionService {
        SqliteSessionService::open_with(self.path(), self.options()).await.unwrap()
    }

    /// Returns a plain connection, like that of another program.
    async fn raw(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.path()).create_if_missing(true);
        options.connect().await.unwrap()
    }

    /// Runs statements as another program would.
    async fn run(&self, sql: &str) {
        let mut connection = self.raw().await;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        sqlx::Connection::close(connection).await.unwrap();
    }

    /// Returns the only text that a query selects. The query itself casts every column.
    async fn text(&self, sql: &str) -> String {
        let mut connection = self.raw().await;
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        row.try_get::<Option<String>, _>(0).unwrap().unwrap_or_default()
    }
}

fn key(id: &str) -> SessionKey {
    SessionKey::new("app", "user", id)
}
