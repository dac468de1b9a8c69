//! The service, which forwards each operation to the writer or to a read connection.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pleach_core::{
    AppName, BoxFuture, Event, EventActions, EventId, Map, Session, SessionHead, SessionId, SessionKey, UserId,
};
use pleach_session::raw_state::RawDelta;
use pleach_session::{
    CreateSession, GetSessionConfig, ListQuestions, ListQuestionsResponse, ListSessions, ListSessionsResponse,
    LogPlace, NewDeadlines, SessionResult, SessionService, Since, list_projected, prepare,
};
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, SqlitePool};

use crate::fault::File;
use crate::inbox_state::InboxState;
use crate::layout::SqliteLayout;
use crate::load::Reader;
use crate::options::SqliteOptions;
use crate::sql::{self, Sql};
use crate::writer::{
    Append, Appended, Claim, Create, Delete, Message, NoteSettled, Redact, Renewed, WriterHandle, keys_and_revisions,
};
use crate::{list, load};

/// The shortest timeout for a free read connection.
const MIN_ACQUIRE: Duration = Duration::from_secs(5);

/// Sessions in an SQLite file. ADK: `SqliteSessionService` and, for the v1 layout, `DatabaseSessionService`.
///
/// A new file gets the layout of the options; an existing file keeps its own. google-adk may read and append to the
/// file at the same time. Any number of services, in any number of processes, may have the same file open.
///
/// Appends of all callers go through one writer, which commits waiting appends together. Each caller is answered after
/// its commit. Loads run concurrently on other connections.
///
/// Loads need a Tokio runtime with the time driver enabled. Appends run on the writer's own runtime.
///
/// Unlike google-adk's service, it compares and appends in one transaction, and detects *any* change since the session
/// was loaded, even one with the same or an older time.
///
/// # Example
/// ```
/// # use pleach_session::SessionResult;
/// # use pleach_session_sqlite::{SqliteLayout, SqliteOptions, SqliteSessionService};
/// # async fn example() -> SessionResult<()> {
/// let sessions = SqliteSessionService::open("sessions.db").await?;
/// // A new file that google-adk's `DatabaseSessionService` can also read.
/// let options = SqliteOptions::default().with_layout(SqliteLayout::V1);
/// let shared = SqliteSessionService::open_with("shared.db", options).await?;
/// # drop((sessions, shared));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteSessionService {
    pub(crate) file: File,
    pub(crate) writer: WriterHandle,
    pub(crate) readers: SqlitePool,
    pub(crate) sql: Arc<Sql>,
    pub(crate) inbox: Arc<InboxState>,
}

impl SqliteSessionService {
    /// Opens a file with the default options. The file and its tables are created if they are missing.
    ///
    /// # Errors
    /// The errors of [`open_with`](Self::open_with).
    ///
    /// # Cancel safety
    /// The same as [`open_with`](Self::open_with).
    pub async fn open(path: impl AsRef<Path>) -> SessionResult<Self> {
        Self::open_with(path, SqliteOptions::default()).await
    }

    /// Opens a file and switches it to WAL. The file and its tables are created if they are missing.
    ///
    /// # Errors
    /// - `Unsupported` for a file whose tables have another layout (v0, a newer one, another program's), and for
    ///   SQLite's in-memory names.
    /// - `Corrupt` for a file that is damaged or not a database.
    /// - `Locked` if other processes hold the file beyond the busy timeout.
    /// - `Unavailable` if the file cannot be opened or written.
    ///
    /// Each error names the file. A refused file is not changed.
    ///
    /// # Cancel safety
    /// When the future is dropped, the file and its tables may have been created.
    pub async fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> SessionResult<Self> {
        let (path, file) = named(path.as_ref())?;
        let writer = WriterHandle::open(&path, file.clone(), &options).await?;
        let readers = readers(&path, &options);
        tracing::debug!(%file, layout = writer.layout().name(), "sessions opened");
        let sql = Arc::new(Sql::of(writer.layout()));
        Ok(Self { file, writer, readers, sql, inbox: Arc::default() })
    }

    /// Returns the layout of the file, which is one of google-adk's two.
    pub fn layout(&self) -> SqliteLayout {
        self.sql.layout()
    }

    async fn create(&self, request: CreateSession) -> SessionResult<Session> {
        let time = prepare::create_time(&request);
        let id = match (self.layout(), &request.session_id) {
            (SqliteLayout::V1, Some(id)) => id.clone(),
            (_, wanted) => prepare::session_id_or_new(wanted.as_ref()),
        };
        let asked_id = request.session_id.as_ref().unwrap_or(&id).to_string();
        let key = Arc::new(SessionKey::new(request.app_name, request.user_id, id));
        let state = prepare::check_new_session(&key, time, request.state)?;
        let time = self.layout().time(&key, "create_time", time)?;
        let state = RawDelta::from_map(&state).map_err(|error| self.unwritable(error))?;
        let created = self
            .writer
            .ask(|reply| {
                let key = key.clone();
                Message::Create(Box::new(Create { key, asked_id, state, time, reply }))
            })
            .await?;
        let read =
            |text: &str, whose: &str| load::state(Some(text), format_args!("the {whose} state of {key}"), &self.file);
        let (own, app, user) =
            (read(&created.session, "own")?, read(&created.app, "app")?, read(&created.user, "user")?);
        let (view, unreadable) = own.merged(&app, &user);
        let seen = Renewed::new(time, 0);
        let head = SessionHead::new(key, seen.revision, seen.update_time);
        Ok(Session::new(head, view).with_unreadable(unreadable))
    }

    /// Finds a session by its id exactly, or in the lite layout by the trimmed id.
    // S30
    async fn get(&self, key: &SessionKey, config: GetSessionConfig) -> SessionResult<Option<Session>> {
        self.writer.wait_for_abandoned().await?;
        let found = load::session(self.reader(), key, &config).await?;
        match (found, self.layout().trimmed(key)) {
            (None, Some(trimmed)) => load::session(self.reader(), &trimmed, &config).await,
            (found, _) => Ok(found),
        }
    }

    async fn append(&self, head: &mut SessionHead, event: Arc<Event>) -> SessionResult<Arc<Event>> {
        if event.is_partial() {
            return Ok(event);
        }
        let sent = prepare::event_to_store(head.key(), event)?;
        let event = prepare::event_with_time(head, Arc::clone(&sent));
        let time = self.layout().time(head.key(), "timestamp", event.timestamp())?;
        // The event is serialised on the caller's thread, because all callers share the writer's thread.
        let data = prepare::event_text(head.key(), &event)?.into();
        let delta = expected_delta(event.actions()).map_err(|error| self.unwritable(error))?;
        let key = head.shared_key().clone();
        let seen = Renewed::seen_by(head);
        let Appended { renewed, stored } = self
            .writer
            .ask(|reply| {
                let event = event.clone();
                Message::Append(Box::new(Append { key, seen, sent, event, time, data, delta, reply }))
            })
            .await?;
        head.advance(renewed.revision, renewed.update_time);
        Ok(stored.unwrap_or(event))
    }

    /// Sends a message that advances the session's revision, and updates the head.
    async fn advance(
        &self,
        head: &mut SessionHead,
        time: f64,
        message: impl FnOnce(Claim) -> Message,
    ) -> SessionResult<()> {
        let time = self.layout().time(head.key(), "update_time", prepare::claim_time(head, time))?;
        let key = head.shared_key().clone();
        let seen = Renewed::seen_by(head);
        let renewed = self.writer.ask(|reply| message(Claim { key, seen, time, reply })).await?;
        head.advance(renewed.revision, renewed.update_time);
        Ok(())
    }

    async fn redact(&self, head: &mut SessionHead, event: Arc<Event>, time: f64) -> SessionResult<()> {
        let event = prepare::event_to_store(head.key(), event)?;
        let data = prepare::event_text(head.key(), &event)?.into();
        self.advance(head, time, |claim| Message::Redact(Box::new(Redact { claim, event, data }))).await
    }

    async fn note(&self, program: &str, heads: &[SessionHead]) -> SessionResult<()> {
        let sessions = keys_and_revisions(heads).map_err(|error| self.unwritable(error))?;
        let program = program.to_owned();
        self.writer.ask(|reply| Message::Settled(NoteSettled { program, sessions, reply })).await
    }

    async fn check_head(&self, head: &SessionHead) -> SessionResult<()> {
        self.writer.wait_for_abandoned().await?;
        load::check_head(self.reader(), head).await
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { pool: &self.readers, file: &self.file, sql: &self.sql }
    }

    /// Checks both halves of the service: the writer's thread and a read connection.
    async fn check(&self) -> SessionResult<()> {
        self.writer.flush().await?;
        let asked = sqlx::query(sql::ANYTHING).fetch_optional(&self.readers).await;
        asked.map(drop).map_err(|error| self.file.fault(error))
    }

    fn unwritable(&self, error: serde_json::Error) -> pleach_session::SessionError {
        self.file.fault(sqlx::Error::Encode(Box::new(error)))
    }
}

/// Returns the path with which a file is opened, and its name in errors.
///
/// # Errors
/// `Unsupported` for names that SQLite reads as a database in memory.
pub(crate) fn named(path: &Path) -> SessionResult<(PathBuf, File)> {
    // Without the prefix, SQLite would interpret such a name as a URI with options.
    let path = match path {
        path if path.as_os_str().as_encoded_bytes().starts_with(b"file:") => Path::new(".").join(path),
        path => path.to_owned(),
    };
    let file = File::new(&path);
    if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
        let reason = "every connection would see a database of its own; use the in-memory session service";
        return Err(file.unsupported(reason));
    }
    Ok((path, file))
}

/// Returns the read connections of a file.
pub(crate) fn readers(path: &Path, options: &SqliteOptions) -> SqlitePool {
    let connect = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(options.busy_timeout)
        .disable_statement_logging();
    // The pool has no timers, because it may outlive the runtime that opened it.
    SqlitePoolOptions::new()
        .max_connections(options.read_connections)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(options.busy_timeout.max(MIN_ACQUIRE))
        .connect_lazy_with(connect)
}

/// Returns the delta with null in place of each operation's result, so that the writer reads the states that the
/// operations need.
fn expected_delta(actions: &EventActions) -> serde_json::Result<RawDelta> {
    if actions.state_ops().is_empty() {
        return RawDelta::from_map(actions.state_delta());
    }
    let mut delta = actions.state_delta().clone();
    delta.extend(actions.state_ops().keys().map(|key| (key.clone(), Value::Null)));
    RawDelta::from_map(&delta)
}

impl fmt::Debug for SqliteSessionService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("SqliteSessionService");
        text.field("file", &self.file.to_string()).field("layout", &self.layout()).finish_non_exhaustive()
    }
}

impl SessionService for SqliteSessionService {
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, SessionResult<Session>> {
        Box::pin(self.create(request))
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(self.get(key, config))
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        Box::pin(async move {
            self.writer.wait_for_abandoned().await?;
            load::since(self.reader(), head).await
        })
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

    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, SessionResult<ListQuestionsResponse>> {
        Box::pin(async move { list_projected(self, &request).await })
    }

    fn new_deadlines<'a>(
        &'a self,
        app_name: &'a AppName,
        since: Option<&'a LogPlace>,
        _: f64,
    ) -> BoxFuture<'a, SessionResult<Option<NewDeadlines>>> {
        Box::pin(self.deadlines_since(app_name, since))
    }

    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, SessionResult<Vec<SessionKey>>> {
        Box::pin(list::find(self.reader(), app_name, session_id))
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>> {
        let (key, trimmed) = (key.clone(), self.layout().trimmed(key));
        Box::pin(self.writer.ask(|reply| Message::Delete(Delete { key, trimmed, reply })))
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(self.append(head, event))
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.advance(head, time, Message::Claim))
    }

    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.check_head(head))
    }

    fn note_settled<'a>(&'a self, program: &'a str, heads: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.note(program, heads))
    }

    fn redact_event<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
        time: f64,
    ) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.redact(head, event, time))
    }

    fn user_state<'a>(&'a self, app_name: &'a AppName, user_id: &'a UserId) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(list::user_state(self.reader(), app_name, user_id))
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        Box::pin(list::app_state(self.reader(), app_name))
    }

    fn health_check(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(self.check())
    }

    fn flush(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(self.writer.flush())
    }

    fn close(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            self.readers.close().await;
            self.writer.close().await;
            Ok(())
        })
    }
}
