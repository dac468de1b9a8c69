//! The inbox: open questions, read from a projection that is brought up to date first.
//!
//! Appends do not update the projection. A partial index on `events` contains the events that may concern questions,
//! from any writer. If a session's number of such events differs from the number in the projection, the session is
//! projected again, from these events alone. The index is built concurrently with writes, and the result is the same
//! without it.

use std::sync::atomic::Ordering;

use futures_util::TryStreamExt as _;
use pleach_core::{AppName, SessionKey};
use pleach_session::{
    Behind, Gathering, ListQuestions, ListQuestionsResponse, PAGE, Projected, Projection, ProjectionError,
    ProjectionResult, QuestionRow, SessionError, SessionResult, refresh_projection,
};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::PostgresSessionService;
use crate::connect_retry::ConnectRetry;
use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::inbox_fault::outcome;
use crate::inbox_index::{self, IndexBuild};
use crate::inbox_sql::{self as sql, Index};
use crate::inbox_state::Refresh;
use crate::inbox_store::Store;
use crate::lent::Lent;
use crate::load::read_event;
use crate::value::Name;

impl Projection for PostgresSessionService {
    async fn make(&self, anew: bool) -> ProjectionResult<()> {
        if !anew && self.inbox.is_made.load(Ordering::Acquire) {
            return Ok(());
        }
        let server = self.connections.server();
        let found = self.connections.ask(&InspectInbox { server }).await??;
        if !found.has_tables {
            self.make_tables().await?;
        }
        if !found.has_index {
            self.make_index(&self.inbox.build, &sql::EVENTS).await?;
        }
        self.inbox.is_made.store(true, Ordering::Release);
        Ok(())
    }

    async fn refresh(&self, request: &ListQuestions) -> ProjectionResult<()> {
        let asked = self.inbox.begun.fetch_add(1, Ordering::Relaxed);
        let mut last = self.inbox.refreshed.lock().await;
        if !last.as_ref().is_some_and(|refresh| refresh.covers(request, asked)) {
            let begun = self.inbox.begun.fetch_add(1, Ordering::Relaxed);
            refresh_projection(self, request).await?;
            let (app_name, user_id) = (request.app_name.clone(), request.user_id.clone());
            *last = Some(Refresh { app_name, user_id, begun });
        }
        Ok(())
    }

    async fn behind(&self, request: &ListQuestions, after: Option<&Behind>) -> ProjectionResult<Vec<Behind>> {
        self.connections.ask(&FindBehind { request, after, server: self.connections.server() }).await?
    }

    async fn gather(&self, request: &ListQuestions, sessions: &[Behind]) -> ProjectionResult<Vec<Projected>> {
        Ok(self.connections.ask(&FindEvents { request, sessions, server: self.connections.server() }).await?)
    }

    async fn store(&self, app: &AppName, sessions: Vec<Projected>) -> ProjectionResult<()> {
        let count = sessions.len();
        let store = Store { app_name: app.clone(), server: self.connections.server().clone(), sessions };
        self.connections.ask_to_completion(store).await??;
        if self.inbox.statistics.are_old(count) {
            self.connections.ask(&Analyze).await?;
        }
        Ok(())
    }

    async fn answer(&self, request: &ListQuestions) -> ProjectionResult<ListQuestionsResponse> {
        self.connections.ask(&Answer { request, server: self.connections.server() }).await?
    }

    fn warn_of_walks(&self, reason: &SessionError) {
        if !self.inbox.has_warned.swap(true, Ordering::Relaxed) {
            let server = self.connections.server();
            tracing::warn!(
                %server, %reason,
                "the inbox is not kept: every listing of open questions loads every session; list questions once as the owner \
                 of the tables, and grant SELECT, INSERT, UPDATE and DELETE on the tables `pleach_…`"
            );
        }
    }
}

impl PostgresSessionService {
    /// Creates the inbox tables. Tries again while appends lock the table `sessions`, which the new tables reference.
    async fn make_tables(&self) -> ProjectionResult<()> {
        let server = self.connections.server();
        let mut retry = ConnectRetry::new(self.connections.acquire_timeout());
        loop {
            match self.connections.ask(&MakeTables { server }).await {
                Err(SessionError::Locked { .. }) if retry.wait().await => {}
                outcome => return outcome?,
            }
        }
    }

    /// Waits until an index is built. Returns `false` if it cannot be created, for example because the role lacks
    /// the privilege. The inbox then works without the index, but reads more.
    pub(crate) async fn make_index(&self, build: &IndexBuild, index: &'static Index) -> ProjectionResult<bool> {
        let server = self.connections.server();
        let Some(built) = build.wait(&self.connections, index).await else {
            let what = format!("an index of open questions in {server}");
            let source =
                "it is still being built, which takes as long as reading all events, and waits for older transactions";
            return Err(SessionError::Locked { what, source: source.into() }.into());
        };
        let Err(error) = built else { return Ok(true) };
        match outcome::<()>(error, server) {
            Ok(Err(ProjectionError::Unwritable(reason))) => {
                tracing::warn!(%server, %reason, "{}", index.without);
                Ok(false)
            }
            Ok(outcome) => outcome.map(|()| false),
            Err(Trouble::Answer(error)) => Err(error.into()),
            Err(Trouble::Sql(error)) if is_out_of_time(&error) => {
                tracing::warn!(%server, %error, "{}", index.without);
                Ok(false)
            }
            Err(Trouble::Sql(error)) => Err(server.fault(error).into()),
        }
    }
}

/// Returns `true` if a time limit of the server has ended a statement. Through a pooler, a build cannot lift such a
/// limit.
fn is_out_of_time(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "57014")
}

/// The existing parts of the inbox.
struct Found {
    has_tables: bool,
    has_index: bool,
}

struct InspectInbox<'s> {
    server: &'s Server,
}

impl Ask for InspectInbox<'_> {
    type Answer = ProjectionResult<Found>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        let tables = match sqlx::query(sql::is_sound()).fetch_one(&mut *connection).await {
            Ok(row) => row.try_get::<Option<bool>, _>("is_sound")?,
            Err(error) => return outcome(error, self.server),
        };
        let has_index = inbox_index::find(connection, &sql::EVENTS).await? == Some(true);
        Ok(Ok(Found { has_tables: tables == Some(true), has_index }))
    }
}

struct MakeTables<'s> {
    server: &'s Server,
}

impl Ask for MakeTables<'_> {
    type Answer = ProjectionResult<()>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        match sqlx::raw_sql(sql::create()).execute(connection).await {
            Ok(_) => Ok(Ok(())),
            Err(error) => outcome(error, self.server),
        }
    }
}

/// Makes the server count the rows of the projection.
struct Analyze;

impl Ask for Analyze {
    type Answer = ();

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<(), Trouble> {
        // Without new statistics the rows are still right.
        if let Err(error) = sqlx::raw_sql(sql::analyze()).execute(connection).await {
            tracing::debug!(%error, "the tables of the inbox have no new statistics");
        }
        Ok(())
    }
}

/// Finds the next sessions whose projection is out of date, in key order.
struct FindBehind<'r> {
    request: &'r ListQuestions,
    after: Option<&'r Behind>,
    server: &'r Server,
}

impl Ask for FindBehind<'_> {
    type Answer = ProjectionResult<Vec<Behind>>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        let Self { request, after, server } = *self;
        // New tables have no statistics, and a nested loop over all sessions of an app would take seconds.
        connection.begin("SET TRANSACTION READ ONLY; SET LOCAL enable_nestloop = off").await?;
        let found = sqlx::query(sql::stale(request.user_id.is_some(), after.is_some()))
            .bind(Name(request.app_name.as_str()))
            .bind(request.user_id.as_ref().map(|user| Name(user.as_str())))
            .bind(after.map_or("", |after| after.user.as_str()))
            .bind(after.map_or("", |after| after.session.as_str()))
            .bind(i64::try_from(PAGE).unwrap_or(i64::MAX))
            .fetch_all(&mut *connection)
            .await;
        connection.roll_back().await?;
        let rows = match found {
            Ok(rows) => rows,
            Err(error) => return outcome(error, server),
        };
        let behind = |row: &PgRow| -> sqlx::Result<Behind> {
            let (user, session) = (row.try_get("user_id")?, row.try_get("session_id")?);
            Ok(Behind { user, session, events: row.try_get::<i64, _>("events")?.unsigned_abs() })
        };
        Ok(Ok(rows.iter().map(behind).collect::<sqlx::Result<_>>()?))
    }
}

/// Reads those events of some sessions that may concern questions.
struct FindEvents<'r> {
    request: &'r ListQuestions,
    sessions: &'r [Behind],
    server: &'r Server,
}

impl Ask for FindEvents<'_> {
    type Answer = Vec<Projected>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        let app = &self.request.app_name;
        let users: Vec<&str> = self.sessions.iter().map(|behind| behind.user.as_str()).collect();
        let sessions: Vec<&str> = self.sessions.iter().map(|behind| behind.session.as_str()).collect();
        let query = sqlx::query(sql::events()).bind(Name(app.as_str())).bind(users).bind(sessions);
        // The statement is planned for each batch: see `Store`.
        let mut rows = query.persistent(false).fetch(connection);
        let mut gathering = Gathering::default();
        while let Some(row) = rows.try_next().await? {
            // Slots are counted from one.
            let slot = usize::try_from(row.try_get::<i64, _>("slot")? - 1).unwrap_or(usize::MAX);
            let Some(behind) = self.sessions.get(slot) else { continue };
            let created: String = row.try_get("created")?;
            let key = SessionKey::new(app, behind.user.as_str(), behind.session.as_str());
            let event = split_session_fault(read_event(&row, row.try_get("id")?, &key, self.server))?;
            gathering.push(slot, event, || (key, created));
        }
        Ok(gathering.finish())
    }
}

/// Reads the requested page from the projection.
struct Answer<'r> {
    request: &'r ListQuestions,
    server: &'r Server,
}

impl Ask for Answer<'_> {
    type Answer = ProjectionResult<ListQuestionsResponse>;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Self::Answer, Trouble> {
        let request = self.request;
        let after = request.after.as_ref();
        // One more row than the limit shows whether there is a next page.
        let limit = request.limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
        let found = sqlx::query(sql::answer(request.user_id.is_some(), request.assignee.is_some()))
            .bind(Name(request.app_name.as_str()))
            .bind(request.user_id.as_ref().map(|user| Name(user.as_str())))
            .bind(request.assignee.as_deref().map(Name))
            .bind(after.map_or(f64::NEG_INFINITY, |after| after.asked_at))
            .bind(after.map_or(Name(""), |after| Name(after.user_id.as_str())))
            .bind(after.map_or(Name(""), |after| Name(after.session_id.as_str())))
            .bind(after.map_or(-1, |after| i64::from(after.place)))
            .bind(limit)
            // Otherwise the connection would keep a plan that was made while the tables were small.
            .persistent(false)
            .fetch_all(connection)
            .await;
        let rows = match found {
            Ok(rows) => rows,
            Err(error) => return outcome(error, self.server),
        };
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            let found = question_row(row)?;
            let session = found.key(&request.app_name);
            let event = split_session_fault(read_event(row, row.try_get("id")?, &session, self.server))?;
            items.push(found.read(session, event));
        }
        Ok(Ok(ListQuestionsResponse::cut(items, request.limit)))
    }
}

/// Separates damaged data of a single session, which is the inner error, from failures of the storage.
fn split_session_fault<T>(read: Result<T, Trouble>) -> Result<SessionResult<T>, Trouble> {
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(Trouble::Answer(error)) if error.is_of_one_session() => Ok(Err(error)),
        Err(trouble) => Err(trouble),
    }
}

fn question_row(row: &PgRow) -> sqlx::Result<QuestionRow<'_>> {
    Ok(QuestionRow {
        user: row.try_get("user_id")?,
        session: row.try_get("session_id")?,
        place: row.try_get("place")?,
        asked_at: row.try_get("asked_at")?,
        question: row.try_get("question_id")?,
    })
}
