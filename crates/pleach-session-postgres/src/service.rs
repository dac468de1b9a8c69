//! [`PostgresSessionService`], whose methods delegate to the operations of the other modules.

use std::sync::Arc;
use std::time::Duration;

use pleach_core::{AppName, BoxFuture, Event, EventId, Map, Session, SessionHead, SessionId, SessionKey, UserId};
use pleach_session::{
    CreateSession, GetSessionConfig, ListQuestions, ListQuestionsResponse, ListSessions, ListSessionsResponse,
    LogPlace, NewDeadlines, SessionError, SessionResult, SessionService, Since, list_projected, prepare,
    walk_questions,
};

use crate::address::Address;
use crate::append::{Append, Appended};
use crate::claim::{CheckHead, Claim, Redact};
use crate::connect_retry::ConnectRetry;
use crate::connections::{Ask, Connections};
use crate::create::{Create, Delete};
use crate::inbox_state::InboxState;
use crate::list::{AppState, Apps, Check, Find, List, ListUnsettled, UserState};
use crate::load::{HeadBehind, Load, LoadSince};
use crate::options::PostgresOptions;
use crate::schema;
use crate::value::Seen;

/// The time limit of a health check. It is long enough to replace an idle connection that was closed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Sessions in a Postgres database. ADK: `DatabaseSessionService`.
///
/// The database has google-adk's *v1* layout, and google-adk may read and append to it at the same time. Any number of
/// services, in any number of processes, may use the same database. The tables are in the connection's default schema,
/// which can be set in the URL: `?options=-csearch_path%3Dmy_schema`.
///
/// Every append is one statement and one transaction. If a connection breaks, it is unknown whether the statement was
/// executed. The same append is then repeated until the acquire timeout, and finds its event if it was stored. The
/// caller gets an error only if the server stays unavailable, and may then repeat the append.
///
/// Calls need a Tokio runtime with I/O and time enabled. Connections belong to the runtime that opened them, so use a
/// service in only one runtime.
///
/// Unlike google-adk's service, it detects *any* change since the session was loaded, even one with the same time.
/// One gap remains between the two programs: if google-adk appends an event without state at exactly the session's
/// time, it does not change the session's row. An append that waits for that transaction does not detect it.
///
/// # Example
/// ```
/// # use pleach_session::SessionResult;
/// # use pleach_session_postgres::PostgresSessionService;
/// # async fn example() -> SessionResult<()> {
/// let url = "postgresql://app@db.example.com/sessions?sslmode=verify-full&sslrootcert=system&connections=20";
/// let sessions = PostgresSessionService::open(url).await?;
/// # drop(sessions);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresSessionService {
    pub(crate) connections: Connections,
    pub(crate) inbox: Arc<InboxState>,
    pub(crate) read_only: bool,
}

impl PostgresSessionService {
    /// Opens a database with the default options. Missing tables are created.
    ///
    /// # Errors
    /// The errors of [`open_with`](Self::open_with).
    ///
    /// # Cancel safety
    /// The same as [`open_with`](Self::open_with).
    pub async fn open(url: &str) -> SessionResult<Self> {
        Self::open_with(url, PostgresOptions::default()).await
    }

    /// Opens a database. Missing tables are created, but the database itself must exist.
    ///
    /// The URL is `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`. The schemes `postgres`, `postgresql+asyncpg` and
    /// `postgresql+psycopg` mean the same. Missing parts come from libpq's variables (`PGHOST`, `PGPASSWORD`, …) and
    /// its password file.
    ///
    /// # Errors
    /// - `Unsupported` for a URL that cannot be used, and for a database in another layout (v0, newer, another
    ///   program's). The database is not changed.
    /// - `Unavailable` if the server cannot be reached or refuses the connection.
    ///
    /// No error shows a password.
    ///
    /// # Cancel safety
    /// When the future is dropped, the tables may have been created.
    pub async fn open_with(url: &str, options: PostgresOptions) -> SessionResult<Self> {
        let connections = Connections::new(Address::parse(url)?, &options);
        connections.find_pooling().await?;
        schema::prepare(&connections, options.read_only).await?;
        Ok(Self { connections, inbox: Arc::default(), read_only: options.read_only })
    }

    /// Refuses to write to a database that was opened read-only.
    fn check_writable(&self) -> SessionResult<()> {
        if self.read_only {
            return Err(SessionError::ReadOnly { what: self.connections.server().to_string() });
        }
        Ok(())
    }

    async fn create(&self, request: CreateSession) -> SessionResult<Session> {
        self.check_writable()?;
        let create = Create::new(request, self.connections.server())?;
        self.connections.ask_to_completion(create).await
    }

    async fn append(&self, head: &mut SessionHead, event: Arc<Event>) -> SessionResult<Arc<Event>> {
        if event.is_partial() {
            return Ok(event);
        }
        self.check_writable()?;
        let sent = prepare::event_to_store(head.key(), event)?;
        let append = Append::new(head, sent, self.connections.server())?;
        let event = Arc::clone(append.event());
        let Appended { behind, stored } = self.connections.ask_to_completion(append).await?;
        head.advance(behind.revision, behind.update_time);
        Ok(stored.unwrap_or(event))
    }

    async fn claim(&self, head: &mut SessionHead, time: f64) -> SessionResult<()> {
        self.check_writable()?;
        let claim = Claim::new(head, time, self.connections.server())?;
        self.advance(head, claim).await
    }

    async fn redact(&self, head: &mut SessionHead, event: Arc<Event>, time: f64) -> SessionResult<()> {
        self.check_writable()?;
        let event = prepare::event_to_store(head.key(), event)?;
        let claim = Claim::new(head, time, self.connections.server())?;
        self.advance(head, Redact { claim, event }).await
    }

    async fn list(&self, request: &ListSessions) -> SessionResult<ListSessionsResponse> {
        let list = || List { request, server: self.connections.server() };
        if let Some(program) = &request.unsettled_for
            && let Some(unsettled) = self.connections.ask(&ListUnsettled { list: list(), program }).await?
        {
            return Ok(unsettled);
        }
        self.connections.ask(&list()).await
    }

    async fn advance(&self, head: &mut SessionHead, ask: impl Ask<Answer = Seen> + 'static) -> SessionResult<()> {
        let seen = self.connections.ask_to_completion(ask).await?;
        head.advance(seen.revision, seen.update_time);
        Ok(())
    }
}

impl SessionService for PostgresSessionService {
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, SessionResult<Session>> {
        Box::pin(self.create(request))
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(async move { self.connections.ask(&Load::new(key, &config, self.connections.server())).await })
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        let server = self.connections.server();
        Box::pin(async move { self.connections.ask(&LoadSince { head, server }).await })
    }

    fn head_behind<'a>(
        &'a self,
        key: &'a SessionKey,
        event: &'a EventId,
    ) -> BoxFuture<'a, SessionResult<Option<SessionHead>>> {
        Box::pin(async move { self.connections.ask(&HeadBehind { key, event }).await })
    }

    fn list_apps(&self) -> BoxFuture<'_, SessionResult<Vec<AppName>>> {
        Box::pin(async move { self.connections.ask(&Apps).await })
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, SessionResult<ListSessionsResponse>> {
        Box::pin(async move { self.list(&request).await })
    }

    fn list_questions(&self, request: ListQuestions) -> BoxFuture<'_, SessionResult<ListQuestionsResponse>> {
        Box::pin(async move {
            // Using the projection of open questions would mean writing it.
            if self.read_only { walk_questions(self, &request).await } else { list_projected(self, &request).await }
        })
    }

    fn new_deadlines<'a>(
        &'a self,
        app_name: &'a AppName,
        since: Option<&'a LogPlace>,
        now: f64,
    ) -> BoxFuture<'a, SessionResult<Option<NewDeadlines>>> {
        Box::pin(self.deadlines_since(app_name, since, now))
    }

    fn find_sessions<'a>(
        &'a self,
        app_name: &'a AppName,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, SessionResult<Vec<SessionKey>>> {
        Box::pin(async move { self.connections.ask(&Find { app_name, session_id }).await })
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            self.check_writable()?;
            self.connections.ask_to_completion(Delete::new(key)).await
        })
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(self.append(head, event))
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.claim(head, time))
    }

    fn check_head<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move { self.connections.ask(&CheckHead(head)).await })
    }

    fn note_settled<'a>(&'a self, program: &'a str, heads: &'a [SessionHead]) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(async move {
            self.check_writable()?;
            self.note(program, heads).await
        })
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
        let server = self.connections.server();
        Box::pin(async move { self.connections.ask(&UserState { app_name, user_id, server }).await })
    }

    fn app_state<'a>(&'a self, app_name: &'a AppName) -> BoxFuture<'a, SessionResult<Map>> {
        let server = self.connections.server();
        Box::pin(async move { self.connections.ask(&AppState { app_name, server }).await })
    }

    fn health_check(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            let retry = ConnectRetry::new(CHECK_TIMEOUT.min(self.connections.acquire_timeout()));
            self.connections.ask_for(retry, &Check).await
        })
    }

    fn flush(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(self.connections.flush())
    }

    fn close(&self) -> BoxFuture<'_, SessionResult<()>> {
        Box::pin(async move {
            self.inbox.build.stop();
            self.inbox.deadlines_build.stop();
            self.connections.close().await;
            Ok(())
        })
    }
}
