//! The databases of the tests, one for each test: empty, loaded or golden.

use pleach_contract::own_tests::Schema;
use tempfile::TempDir;

use crate::adk::Service;
use crate::program::answer;

const LITE: &[u8] = include_bytes!("../../crates/pleach-session-sqlite/tests/golden/lite.sqlite");
const V1: &[u8] = include_bytes!("../../crates/pleach-session-sqlite/tests/golden/v1.sqlite");
const POSTGRES: &str = include_str!("../../crates/pleach-session-postgres/tests/golden/adk_postgres.sql");

/// The layout and backend in which sessions are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// The SQLite file of google-adk's `SqliteSessionService`.
    Lite,
    /// The SQLite file of google-adk's `DatabaseSessionService`.
    V1,
    /// The Postgres database of google-adk's `DatabaseSessionService`.
    Postgres,
}

/// One database, which is deleted with this value.
pub(crate) struct Database {
    layout: Layout,
    folder: TempDir,
    schema: Option<Schema>,
}

impl Database {
    /// An empty database, or `None` if there is no server for it.
    pub(crate) async fn empty(layout: Layout) -> Option<Self> {
        let mut database = Self { layout, folder: tempfile::tempdir().unwrap(), schema: None };
        if let Layout::Postgres = layout {
            database.schema = Some(Schema::for_test().await?);
        }
        Some(database)
    }

    /// The database that google-adk wrote.
    pub(crate) async fn golden(layout: Layout) -> Option<Self> {
        let database = Self::empty(layout).await?;
        match layout {
            Layout::Lite => std::fs::write(database.file(), LITE).unwrap(),
            Layout::V1 => std::fs::write(database.file(), V1).unwrap(),
            Layout::Postgres => database.schema.as_ref().unwrap().restore(POSTGRES).await.unwrap(),
        }
        Some(database)
    }

    /// The database that pleach's program makes from the same operations.
    pub(crate) async fn loaded(layout: Layout) -> Option<Self> {
        let database = Self::empty(layout).await?;
        let operations = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/scenario.json");
        answer(&["load", operations, &database.url()], "");
        Some(database)
    }

    pub(crate) fn url(&self) -> String {
        match (self.layout, &self.schema) {
            (Layout::Lite, _) => format!("sqlite:///{}", self.file()),
            (Layout::V1, _) => format!("sqlite+aiosqlite:///{}", self.file()),
            (Layout::Postgres, schema) => schema.as_ref().unwrap().url(),
        }
    }

    /// The service of google-adk for this layout, and its arguments.
    pub(crate) fn adk(&self) -> (Service, String) {
        match self.layout {
            Layout::Lite => (Service::Sqlite, self.file()),
            Layout::V1 => (Service::Database, self.file()),
            Layout::Postgres => (Service::Database, self.url()),
        }
    }

    fn file(&self) -> String {
        self.folder.path().join("sessions.sqlite").to_str().unwrap().to_owned()
    }
}
