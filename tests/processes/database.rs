//! The databases that several processes share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pleach::{SessionService, connect};
use pleach_contract::own_tests::{Pooler, Schema};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};
use tempfile::TempDir;

/// A kind of database that outlives a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    SqliteLite,
    SqliteV1,
    Postgres,
    /// Postgres through a pooler. The pooler has four connections to the server, and lends one of them for each
    /// transaction.
    PooledPostgres,
}

/// A database, which is deleted with this value.
pub(crate) enum Database {
    Sqlite { folder: TempDir, scheme: &'static str },
    Postgres(Schema),
    Pooled(Schema, Mutex<Pooler>),
}

impl Backend {
    /// Makes an empty database, or prints why the test is skipped.
    pub(crate) async fn database(self) -> Option<Database> {
        let sqlite = |scheme| Database::Sqlite { folder: tempfile::tempdir().unwrap(), scheme };
        match self {
            Self::SqliteLite => Some(sqlite("sqlite")),
            Self::SqliteV1 => Some(sqlite("sqlite+aiosqlite")),
            Self::Postgres => Schema::for_test().await.map(Database::Postgres),
            Self::PooledPostgres => {
                let schema = Schema::for_test().await?;
                let pooler = Pooler::for_test(&schema, "pool_mode = transaction\ndefault_pool_size = 4")?;
                Some(Database::Pooled(schema, Mutex::new(pooler)))
            }
        }
    }
}

impl Database {
    pub(crate) fn url(&self) -> String {
        match self {
            // Three slashes and an absolute path make four slashes.
            Self::Sqlite { scheme, .. } => format!("{scheme}:///{}", self.file().display()),
            Self::Postgres(schema) => schema.url(),
            Self::Pooled(schema, pooler) => pooler.lock().unwrap().url(schema),
        }
    }

    pub(crate) async fn open(&self) -> Arc<dyn SessionService> {
        connect(&self.url()).await.unwrap()
    }

    fn file(&self) -> PathBuf {
        match self {
            Self::Sqlite { folder, .. } => folder.path().join("sessions.db"),
            Self::Postgres(_) | Self::Pooled(..) => unreachable!("a server has no file"),
        }
    }

    /// Waits until no statement of a killed process is running any more.
    pub(crate) async fn settle(&self) {
        match self {
            // SQLite's statements run in the process that was killed.
            Self::Sqlite { .. } => {}
            Self::Postgres(schema) => schema.settle().await.unwrap(),
            // The connections of the pooler to the server stay open until it ends.
            Self::Pooled(schema, pooler) => {
                pooler.lock().unwrap().take_down();
                schema.settle().await.unwrap();
                pooler.lock().unwrap().bring_up().unwrap();
            }
        }
    }

    /// The rows of queries with text columns, as any other program reads them.
    pub(crate) async fn rows<const N: usize>(&self, queries: [&str; N]) -> [Vec<Vec<String>>; N] {
        let mut tables = queries.map(|_| Vec::new());
        match self {
            Self::Sqlite { .. } => {
                let mut connection = SqliteConnectOptions::new().filename(self.file()).connect().await.unwrap();
                for (sql, table) in queries.into_iter().zip(&mut tables) {
                    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
                    table.extend(rows.iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()));
                }
                connection.close().await.unwrap();
            }
            Self::Postgres(schema) | Self::Pooled(schema, _) => {
                let mut connection = schema.connect().await.unwrap();
                for (sql, table) in queries.into_iter().zip(&mut tables) {
                    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
                    table.extend(rows.iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()));
                }
                connection.close().await.unwrap();
            }
        }
        tables
    }

    /// Checks the integrity of the database with its own commands.
    pub(crate) async fn check_integrity(&self) {
        if let Self::Sqlite { .. } = self {
            let [sound, orphans] =
                self.rows(["PRAGMA integrity_check", "SELECT \"table\" FROM pragma_foreign_key_check"]).await;
            assert_eq!(sound, [["ok"]]);
            assert!(orphans.is_empty(), "rows without a session in {orphans:?}");
        }
    }
}
