//! Opening the file for writing: its layout, WAL, and its tables.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pleach_core::private_files;
use pleach_session::{SessionError, SessionResult};
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqliteConnection};

use super::detect::{Found, detect};
use crate::fault::{Fault, File};
use crate::inbox_sql::OBJECTS;
use crate::layout::SqliteLayout;
use crate::lock_wait::LockWait;
use crate::options::{SqliteOptions, Synchronous};
use crate::sql::{self, Sql};

/// The time that another program may take to create its tables.
const OTHERS: Duration = Duration::from_secs(2);
const UNVERSIONED: &str = "its table adk_internal_metadata has no row schema_version; insert ('schema_version', '1') if \
                           its other tables are those of google-adk 1.22 or later";

/// The settings of the writing connection, with which it can also be replaced.
pub(super) struct Settings {
    file: File,
    options: SqliteOptions,
    connect: SqliteConnectOptions,
    /// The layout of the file when it was first opened.
    layout: OnceLock<SqliteLayout>,
}

/// The writing connection, and the texts that fit the file.
pub(super) struct Open {
    pub(super) connection: SqliteConnection,
    pub(super) sql: Sql,
}

/// The reason why there is no connection.
enum Trouble {
    /// A statement failed.
    Sql(sqlx::Error),
    /// The file is not supported.
    Refused(SessionError),
    /// Another program is creating its tables, or was interrupted.
    HalfMade,
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl Settings {
    pub(super) fn new(path: &Path, file: File, options: &SqliteOptions) -> Self {
        let synchronous = match options.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        };
        let connect = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(options.create_if_missing)
            .synchronous(synchronous)
            .foreign_keys(true)
            .pragma("cache_size", "-16000")
            // With this setting, pages keep no copies of rows that have moved, which a redaction would not find. It
            // costs no extra reads or writes.
            .pragma("secure_delete", "FAST")
            // The writer waits for locks itself: see `LockWait`.
            .busy_timeout(Duration::ZERO)
            .disable_statement_logging();
        Self { file, options: options.clone(), connect, layout: OnceLock::new() }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn lock_wait(&self) -> LockWait {
        LockWait::new(self.options.busy_timeout)
    }

    /// Connects, refuses unsupported files, turns WAL on and creates missing tables. All steps are repeated while the
    /// file is locked, because each can meet a lock and each can be repeated.
    pub(super) async fn open(&self) -> SessionResult<Open> {
        let mut lock_wait = self.lock_wait();
        let mut others = LockWait::new(OTHERS.min(self.options.busy_timeout));
        loop {
            match self.attempt().await {
                Ok(open) => return Ok(open),
                Err(Trouble::HalfMade) if others.wait() => {}
                Err(Trouble::HalfMade) => return Err(self.file.unsupported(UNVERSIONED)),
                Err(Trouble::Sql(error)) if Fault::of(&error) == Fault::Busy && lock_wait.wait() => {}
                Err(Trouble::Sql(error)) => return Err(self.file.fault(error)),
                Err(Trouble::Refused(error)) => return Err(error),
            }
        }
    }

    async fn attempt(&self) -> Result<Open, Trouble> {
        if self.options.create_if_missing {
            // SQLite gives its companion files the same permissions, and reports the errors when it opens the file.
            let _ = private_files::make_file(self.connect.get_filename());
        }
        let mut connection = self.connect.connect().await?;
        let found = self.look(&mut connection).await?;
        // This comes after the check, because a refused file must not be changed and the journal mode is a property of
        // the file.
        sqlx::query(sql::WAL).fetch_all(&mut connection).await?;
        let layout = if found.is_complete { found.layout } else { Some(self.create_tables(&mut connection).await?) };
        let layout = layout.unwrap_or(self.options.layout);
        if *self.layout.get_or_init(|| layout) != layout {
            let reason = "its layout has changed since it was opened; open it again";
            return Err(Trouble::Refused(self.file.unsupported(reason)));
        }
        let sql = Sql::of(layout);
        if let Err(error) = make_indexes(&mut connection, &sql.listing.indexes).await {
            if Fault::of(&error) == Fault::Busy {
                return Err(error.into());
            }
            let file = &self.file;
            tracing::warn!(%file, %error, "an index cannot be created: each page of a listing reads all sessions of the app");
            // A new connection is not in the transaction that failed.
            connection = self.connect.connect().await?;
        }
        Ok(Open { connection, sql })
    }

    async fn look(&self, connection: &mut SqliteConnection) -> Result<Found, Trouble> {
        let found = detect(connection).await?.map_err(|reason| Trouble::Refused(self.file.unsupported(reason)))?;
        if found.is_half_made { Err(Trouble::HalfMade) } else { Ok(found) }
    }

    /// Creates the missing tables in the layout of the existing ones. Checks again under the lock, because another
    /// program may have begun to create its own.
    async fn create_tables(&self, connection: &mut SqliteConnection) -> Result<SqliteLayout, Trouble> {
        sqlx::query(sql::BEGIN).execute(&mut *connection).await?;
        let layout = self.look(connection).await?.layout.unwrap_or(self.options.layout);
        sqlx::query(sql::create_tables(layout)).execute(&mut *connection).await?;
        sqlx::query(sql::COMMIT).execute(connection).await?;
        Ok(layout)
    }
}

/// Creates the missing indexes for listings. SQLite keeps them up to date for every writer.
async fn make_indexes(connection: &mut SqliteConnection, indexes: &[Arc<str>]) -> sqlx::Result<()> {
    let found: Vec<String> = sqlx::query_scalar(OBJECTS).fetch_all(&mut *connection).await?;
    let is_missing = |text: &&Arc<str>| !found.iter().any(|found| **found == ***text);
    let missing: Vec<&Arc<str>> = indexes.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    sqlx::query(sql::BEGIN).execute(&mut *connection).await?;
    // Another process may have created them in the meantime.
    let found: Vec<String> = sqlx::query_scalar(OBJECTS).fetch_all(&mut *connection).await?;
    for text in missing.into_iter().filter(|text| !found.iter().any(|found| **found == ***text)) {
        sqlx::query(AssertSqlSafe(Arc::clone(text))).execute(&mut *connection).await?;
    }
    sqlx::query(sql::COMMIT).execute(connection).await?;
    Ok(())
}
