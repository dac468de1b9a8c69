//! Databases of the tests: one for each test, empty, loaded or golden.

use pleach_tests::corpus::Lane;
use pleach_tests::schema::Schema;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;

use crate::adk::Service;
use crate::program::answer;

const LITE: &[u8] = include_bytes!("../../crates/pleach-session-sqlite/tests/golden/lite.sqlite");
const V1: &[u8] = include_bytes!("../../crates/pleach-session-sqlite/tests/golden/v1.sqlite");
const POSTGRES: &str = include_str!("../../crates/pleach-session-postgres/tests/golden/adk_postgres.sql");

/// Where and how sessions are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// The SQLite file of google-adk's `SqliteSessionService`.
    Lite,
    /// The SQLite file of its `DatabaseSessionService`.
    V1,
    /// The Postgres database of its `DatabaseSessionService`.
    Postgres,
}

/// One database, gone with this value.
pub(crate) struct Place {
    layout: Layout,
    folder: TempDir,
    schema: Option<Schema>,
}

impl Place {
    /// A place for a database, or None where there is no server for it.
    pub(crate) async fn empty(layout: Layout) -> Option<Self> {
        let mut place = Self { layout, folder: tempfile::tempdir().unwrap(), schema: None };
        if let Layout::Postgres = layout {
            let variable = Lane::POSTGRES_URL;
            let Some(server) = std::env::var(variable).ok().filter(|url| !url.is_empty()) else {
                eprintln!("SKIPPED: {variable} names no server");
                return None;
            };
            place.schema = Some(Schema::create(server).await.unwrap());
        }
        Some(place)
    }

    /// The database google-adk wrote.
    pub(crate) async fn golden(layout: Layout) -> Option<Self> {
        let place = Self::empty(layout).await?;
        match layout {
            Layout::Lite => std::fs::write(place.file(), LITE).unwrap(),
            Layout::V1 => std::fs::write(place.file(), V1).unwrap(),
            Layout::Postgres => restore(place.schema.as_ref().unwrap()).await,
        }
        Some(place)
    }

    /// The database our program makes of the same operations.
    pub(crate) async fn loaded(layout: Layout) -> Option<Self> {
        let place = Self::empty(layout).await?;
        let operations = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/scenario.json");
        answer(&["load", operations, &place.url()], "");
        Some(place)
    }

    pub(crate) fn url(&self) -> String {
        match (self.layout, &self.schema) {
            (Layout::Lite, _) => format!("sqlite:///{}", self.file()),
            (Layout::V1, _) => format!("sqlite+aiosqlite:///{}", self.file()),
            (Layout::Postgres, schema) => schema.as_ref().unwrap().url(),
        }
    }

    /// The service of google-adk that this layout belongs to, and its arguments.
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

impl Drop for Place {
    fn drop(&mut self) {
        let Some(schema) = self.schema.take() else { return };
        // A thread with a runtime of its own: this runs inside of one, and also while a test panics.
        let removing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(schema.remove()).unwrap();
        });
        let _ = removing.join();
    }
}

/// Plays a plain dump: statements, and rows behind `COPY … FROM stdin`.
async fn restore(schema: &Schema) {
    let mut connection = PgConnection::connect(&schema.url()).await.unwrap();
    let mut lines = POSTGRES.lines();
    let mut statements = String::new();
    while let Some(line) = lines.next() {
        let line = line.replace("public.", &format!("{}.", schema.name()));
        if !line.starts_with("COPY ") {
            statements.push_str(&line);
            statements.push('\n');
            continue;
        }
        run(&mut connection, std::mem::take(&mut statements)).await;
        let rows: Vec<&str> = lines.by_ref().take_while(|row| *row != "\\.").collect();
        let mut copy = connection.copy_in_raw(&line).await.unwrap();
        copy.send(rows.join("\n").into_bytes()).await.unwrap();
        copy.finish().await.unwrap();
    }
    run(&mut connection, statements).await;
    connection.close().await.unwrap();
}

async fn run(connection: &mut PgConnection, statements: String) {
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(connection).await.unwrap();
}
