//! Opening the file for writing: which layout it has, WAL, and our tables.

use std::path::Path;

use pleach_session::SessionResult;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Row as _, SqliteConnection};

use crate::fault::{Fault, File};
use crate::options::{SqliteOptions, Synchronous};
use crate::patience::Patience;
use crate::sql;

/// How the writing connection is made, and made again.
pub(super) struct Settings {
    file: File,
    options: SqliteOptions,
    connect: SqliteConnectOptions,
}

impl Settings {
    pub(super) fn new(path: &Path, file: File, options: &SqliteOptions) -> Self {
        let synchronous = match options.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        };
        let connect = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .synchronous(synchronous)
            .foreign_keys(true)
            .pragma("cache_size", "-16000")
            // The writer waits on its own terms: see `Patience`.
            .busy_timeout(std::time::Duration::ZERO)
            .disable_statement_logging();
        Self { file, options: options.clone(), connect }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn patience(&self) -> Patience {
        Patience::new(self.options.busy_timeout)
    }

    /// Connects, refuses other layouts, turns WAL on and creates what is missing; all of it again while the file is
    /// locked, since every step can be kept waiting and none is harmed by being repeated.
    pub(super) async fn open(&self) -> SessionResult<SqliteConnection> {
        let mut patience = self.patience();
        loop {
            let error = match self.attempt().await {
                Ok(connection) => return connection,
                Err(error) => error,
            };
            if Fault::of(&error) != Fault::Busy || !patience.wait() {
                return Err(self.file.fault(error));
            }
        }
    }

    async fn attempt(&self) -> sqlx::Result<SessionResult<SqliteConnection>> {
        let mut connection = self.connect.connect().await?;
        let layout = Layout::of(&mut connection).await?;
        if let Err(reason) = layout.check() {
            return Ok(Err(self.file.unsupported(reason)));
        }
        // Only now: a file we refuse must not be changed, and the journal mode is a property of the file.
        sqlx::query(sql::WAL).fetch_all(&mut connection).await?;
        if !layout.is_complete() {
            sqlx::query(sql::CREATE_TABLES).execute(&mut connection).await?;
            // Another program may have created its own layout since we looked.
            if let Err(reason) = Layout::of(&mut connection).await?.check() {
                return Ok(Err(self.file.unsupported(reason)));
            }
        }
        Ok(Ok(connection))
    }
}

/// What the file's schema says about who made it.
struct Layout {
    session_columns: i64,
    time_type: Option<String>,
    event_columns: i64,
    has_event_data: bool,
    present: i64,
}

impl Layout {
    async fn of(connection: &mut SqliteConnection) -> sqlx::Result<Self> {
        let row = sqlx::query(sql::DETECT).fetch_one(connection).await?;
        Ok(Self {
            session_columns: row.try_get("session_columns")?,
            time_type: row.try_get("time_type")?,
            event_columns: row.try_get("event_columns")?,
            has_event_data: row.try_get::<i64, _>("has_event_data")? > 0,
            present: row.try_get("present")?,
        })
    }

    fn is_complete(&self) -> bool {
        const TABLES_AND_INDEX: i64 = 5;
        self.present == TABLES_AND_INDEX
    }

    /// Accepts a file without sessions and the lite layout; says otherwise what was found (S64, S66.3).
    fn check(&self) -> Result<(), String> {
        if self.event_columns > 0 && !self.has_event_data {
            return Err("it has the layout of ADK before 1.22 (version 0, pickled actions); convert it with \
                        google-adk's command `adk migrate session` first"
                .to_owned());
        }
        if self.session_columns == 0 {
            return Ok(());
        }
        match self.time_type.as_deref().map(str::to_ascii_uppercase).as_deref() {
            Some("REAL") => Ok(()),
            Some("DATETIME" | "TIMESTAMP") => {
                Err("it has the v1 layout that google-adk's DatabaseSessionService writes, and this version \
                     reads and writes only the lite layout of SqliteSessionService"
                    .to_owned())
            }
            Some(other) => {
                Err(format!("its table sessions has an update_time of type {other:?}, which no known layout has"))
            }
            None => Err("its table sessions has no column update_time; it was made by another program".to_owned()),
        }
    }
}
