//! Read-only access to a file, which never opens a writer, switches to WAL or creates tables.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pleach_core::{AppName, BoxFuture, Event, EventId, Map, Session, SessionHead, SessionId, SessionKey, UserId};
use pleach_session::{
    CreateSession, GetSessionConfig, ListSessions, ListSessionsResponse, SessionResult, SessionService, Since,
};
use sqlx::SqlitePool;

use crate::fault::File;
use crate::load::Reader;
use crate::options::SqliteOptions;
use crate::service::{named, readers};
use crate::sql::{self, Sql};
use crate::writer::detect::detect;
use crate::{SqliteLayout, list, load};

/// Sessions in an SQLite file that is only read, in either layout: for programs that inspect another program's
/// database.
///
/// Opening and reading do not change the file. If the file is in WAL mode, SQLite keeps two files next to it while it
/// is open, so the folder must be writable. Otherwise read permission is enough. Every operation that would write fails
/// as `ReadOnly`.
///
/// Open questions are found by reading all sessions, because bringing the projection of questions up to date would
/// write to the file.
#[derive(Clone)]
pub struct ReadOnlySqliteSessionService {
    file: File,
    readers: SqlitePool,
    sql: Arc<Sql>,
}

impl ReadOnlySqliteSessionService {
    /// Opens a file. Of `options`, only the busy timeout and the number of connections apply.
    ///
    /// # Errors
    /// - `Unsupported` for a file whose tables are missing or have another layout.
    /// - `Corrupt` for a file that is damaged or not a database.
    /// - `Locked` if other processes hold the file beyond the busy timeout.
    /// - `Unavailable` if the file cannot be opened.
    ///
    /// # Cancel safety
    /// Opening changes nothing.
    pub async fn open(path: impl AsRef<Path>, options: SqliteOptions) -> SessionResult<Self> {
        let (path, file) = named(path.as_ref())?;
        let readers = readers(&path, &options);
        let mut connection = readers.acquire().await.map_err(|error| file.fault(error))?;
        let found = detect(&mut connection).await.map_err(|error| file.fault(error))?;
        let found = found.map_err(|reason| file.unsupported(reason))?;
        drop(connection);
        match found.layout {
            Some(layout) if found.is_readable => {
                tracing::debug!(%file, layout = layout.name(), "sessions opened read-only");
                Ok(Self { file, readers, sql: Arc::new(Sql::of(layout)) })
            }
            _ => Err(file.unsupported("session tables are missing; open it for writing to create them")),
        }
    }

    /// Returns the layout of the file, which is one of google-adk's two.
    pub fn layout(&self) -> SqliteLayout {
        self.sql.layout()
    }

    fn reader(&self) -> Reader<'_> {
        Reader { pool: &self.readers, file: &self.file, sql: &self.sql }
    }

    async fn get(&self, key: &SessionKey, config: GetSessionConfig) -> SessionResult<Option<Session>> {
        let found = load::session(self.reader(), key, &config).await?;
        match (found, self.layout().trimmed(key)) {
            (None, Some(trimmed)) => load::session(self.reader(), &trimmed, &config).await,
            (found, _) => Ok(found),
        }
    }

    fn refused<T: Send + 'static>(&self) -> BoxFuture<'_, SessionResult<T>> {
        Box::pin(std::future::ready(Err(self.file.read_only())))
    }
}

impl fmt::Debug for ReadOnlySqliteSessionService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("ReadOnlySqliteSessionService");
        text.field("file", &self.file.to_string()).field("layout", &self.layout()).finish_non_exhaustive()
    }
}

impl SessionService for ReadOnlySqliteSessionService {
    fn create_session(&self, _: CreateSession) -> BoxFuture<'_, SessionResult<Session>> {
        self.refused()
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(self.get(key, config))
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        Box::pin(load::since(self.reader(), head))
    }

    fn head_behind<'a>(
        &'a self,
        key: &'a SessionKey,
        event: &'a EventId,
    ) -> BoxFuture<'a, SessionResult<Option<SessionHead>>> {
        Box::pin(load::head_behind(self.reader(), key, event))
    }

    fn list_apps(&self) -> BoxFuture<'_, SessionResult<Vec<AppName>>> {
        Box::pin(list::apps(self.reader()))
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, SessionResult<ListSessionsResponse>> {
        Box::pin(async move { list::sessions(self.reader(), &request).await })
    }

    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, SessionResult<Vec<SessionKey>>> {
        Box::pin(list::find(self.reader(), app_name, session_id))
    }

    fn delete_session<'a>(&'a self, _: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>> {
        self.refused()
    }

    fn append<'a>(&'a self, _: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        if event.is_partial() { Box::pin(std::future::ready(Ok(event))) } else { self.refused() }
    }

    fn claim<'a>(&'a self, _: &'a mut SessionHead, _: f64) -> BoxFuture<'a, SessionResult<()>> {
        self.refused()
    }

    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(load::check_head(self.reader(), head))
    }

    fn note_settled<'a>(&'a self, _: &'a str, _: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        self.refused()
    }

    fn redact_event<'a>(&'a self, _: &'a mut SessionHead, _: Arc<Event>, _: f64) -> BoxFuture<'a, SessionResult<()>> {
        self.refused()
    }

    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(list::user_state(self.reader(), app_name, user_id))
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(list::app_state(self.reader(), app_name))
    }

    fn health_check(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            let asked = sqlx::query(sql::ANYTHING).fetch_optional(&self.readers).await;
            asked.map(drop).map_err(|error| self.file.fault(error))
        })
    }

    fn close(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            self.readers.close().await;
            Ok(())
        })
    }
}
