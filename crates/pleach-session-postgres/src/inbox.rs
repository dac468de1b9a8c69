//! The inbox: open questions from a projection that is brought up to date before it is read.
//!
//! Appends know nothing of it. A partial index on `events` has those that may concern questions, whoever appends them;
//! sessions whose number of entries is not the projected one are projected again, from these events alone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use pleach_core::{AppName, SessionKey, UserId};
use pleach_session::{
    Gathering, GetSessionConfig, InboxItem, ListQuestions, ListQuestionsResponse, PROJECTION, Projected,
    QuestionCursor, SessionError, SessionResult, asked_questions, walk_questions,
};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use tokio::sync::Mutex;

use crate::PostgresSessionService;
use crate::connections::{Ask, Connections};
use crate::fault::{Server, Trouble};
use crate::inbox_sql as sql;
use crate::inbox_store::Store;
use crate::load::{Load, read_event};
use crate::patience::Patience;
use crate::value::Name;

/// How many sessions that are behind are looked for at once.
const PAGE: usize = 4096;
/// About how many events are read and projected at once.
const BATCH: i64 = 4096;
/// How often missing tables are made before the projection is given up.
const TRIES: usize = 4;
/// How long making the index may take, which reads every event once.
const MAKING: Duration = Duration::from_secs(600);

/// What a service knows of its inbox.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// The tables and the index were there.
    is_made: AtomicBool,
    /// Counts listings and refreshes, in the order in which they begin.
    begun: AtomicU64,
    /// The last refresh. Whoever refreshes holds it: refreshes side by side would store the same rows and wait for each
    /// other in the server.
    refreshed: Mutex<Option<Refresh>>,
}

/// A completed refresh of the projection.
#[derive(Debug)]
struct Refresh {
    app_name: AppName,
    user_id: Option<UserId>,
    /// Its number among listings and refreshes.
    begun: u64,
}

impl Refresh {
    /// Returns whether it began behind the listing with the number `asked`, and read all that the listing wants.
    fn covers(&self, request: &ListQuestions, asked: u64) -> bool {
        let reads_user = self.user_id.is_none() || self.user_id == request.user_id;
        self.begun > asked && self.app_name == request.app_name && reads_user
    }
}

/// Whether an operation on the projection was carried out.
pub(crate) enum Outcome<T> {
    Done(T),
    /// Our tables are missing, or not as we make them.
    Missing,
    /// The projection cannot be written.
    Unwritable(SessionError),
}

/// A session that is behind.
#[derive(Clone)]
struct Stale {
    user: String,
    session: String,
    events: i64,
}

impl PostgresSessionService {
    /// Answers from the projection, which is made when it is missing; by loading every session when it cannot be written.
    pub(crate) async fn questions(&self, request: &ListQuestions) -> SessionResult<ListQuestionsResponse> {
        for _ in 0..TRIES {
            if let Outcome::Unwritable(error) = self.inbox.make(&self.connections).await? {
                return self.walk(request, &error).await;
            }
            match self.projected(request).await? {
                Outcome::Done(answer) => return Ok(answer),
                Outcome::Missing => self.inbox.is_made.store(false, Ordering::Release),
                Outcome::Unwritable(error) => return self.walk(request, &error).await,
            }
        }
        let error = self.connections.server().unsupported("other programs drop the tables of the inbox");
        self.walk(request, &error).await
    }

    async fn walk(&self, request: &ListQuestions, error: &SessionError) -> SessionResult<ListQuestionsResponse> {
        let server = self.connections.server();
        tracing::warn!(%server, %error, "no projection of open questions: every session is loaded");
        walk_questions(self, request).await
    }

    async fn projected(&self, request: &ListQuestions) -> SessionResult<Outcome<ListQuestionsResponse>> {
        let asked = self.inbox.begun.fetch_add(1, Ordering::Relaxed);
        let mut last = self.inbox.refreshed.lock().await;
        if !last.as_ref().is_some_and(|refresh| refresh.covers(request, asked)) {
            let begun = self.inbox.begun.fetch_add(1, Ordering::Relaxed);
            match self.refresh(request).await? {
                Outcome::Done(()) => {}
                Outcome::Missing => return Ok(Outcome::Missing),
                Outcome::Unwritable(error) => return Ok(Outcome::Unwritable(error)),
            }
            let (app_name, user_id) = (request.app_name.clone(), request.user_id.clone());
            *last = Some(Refresh { app_name, user_id, begun });
        }
        drop(last);
        self.connections.ask(&Answer { request, server: self.connections.server() }).await
    }

    /// Brings the projection up to date for the sessions that a listing is about.
    async fn refresh(&self, request: &ListQuestions) -> SessionResult<Outcome<()>> {
        let server = self.connections.server();
        let mut after = None;
        loop {
            let find = FindStale { request, after: after.as_ref(), server };
            let stale = match self.connections.ask(&find).await? {
                Outcome::Done(stale) => stale,
                Outcome::Missing => return Ok(Outcome::Missing),
                Outcome::Unwritable(error) => return Ok(Outcome::Unwritable(error)),
            };
            let mut rest = &*stale;
            while !rest.is_empty() {
                let (batch, others) = rest.split_at(batch_size(rest));
                match self.project(request, batch).await? {
                    Outcome::Done(()) => rest = others,
                    Outcome::Missing => return Ok(Outcome::Missing),
                    Outcome::Unwritable(error) => return Ok(Outcome::Unwritable(error)),
                }
            }
            if stale.len() < PAGE {
                return Ok(Outcome::Done(()));
            }
            after = stale.last().cloned();
        }
    }

    /// Reads the events of these sessions that may concern questions, and stores what is open.
    async fn project(&self, request: &ListQuestions, batch: &[Stale]) -> SessionResult<Outcome<()>> {
        let server = self.connections.server();
        let mut sessions = self.connections.ask(&FindEvents { request, batch, server }).await?;
        for session in sessions.iter_mut().filter(|session| session.open.is_none()) {
            // What a rewind takes back depends on every event. One that is appended meanwhile is read, and not counted: the
            // session is then projected again.
            let whole = Load::new(&session.key, &GetSessionConfig::all(), server);
            let whole = self.connections.ask(&whole).await?;
            session.open = whole.map(|whole| asked_questions(&whole.events));
        }
        let store = Store { app_name: request.app_name.clone(), server: server.clone(), sessions };
        self.connections.ask_to_the_end(store).await
    }
}

impl Inbox {
    /// Makes the tables and the index where they are missing; looks only until they were there once.
    async fn make(&self, connections: &Connections) -> SessionResult<Outcome<()>> {
        if self.is_made.load(Ordering::Acquire) {
            return Ok(Outcome::Done(()));
        }
        let made = connections.ask_for(Patience::once(MAKING), &Make { server: connections.server() }).await?;
        self.is_made.store(matches!(made, Outcome::Done(())), Ordering::Release);
        Ok(made)
    }
}

struct Make<'s> {
    server: &'s Server,
}

impl Ask for Make<'_> {
    type Answer = Outcome<()>;

    async fn ask(&self, connection: &mut PgConnection, _: bool) -> Result<Outcome<()>, Trouble> {
        let found = sqlx::query(sql::is_sound()).fetch_one(&mut *connection).await?;
        if !found.try_get::<Option<bool>, _>("is_sound")?.unwrap_or(false)
            && let Err(error) = sqlx::raw_sql(sql::create()).execute(connection).await
        {
            return outcome(error, self.server);
        }
        Ok(Outcome::Done(()))
    }
}

/// Finds the next sessions that are behind, in the order of their keys.
struct FindStale<'r> {
    request: &'r ListQuestions,
    after: Option<&'r Stale>,
    server: &'r Server,
}

impl Ask for FindStale<'_> {
    type Answer = Outcome<Vec<Stale>>;

    async fn ask(&self, connection: &mut PgConnection, _: bool) -> Result<Self::Answer, Trouble> {
        let Self { request, after, server } = *self;
        // Young tables have no statistics, and a nested loop over all sessions of an app takes seconds.
        sqlx::raw_sql("BEGIN READ ONLY; SET LOCAL enable_nestloop = off").execute(&mut *connection).await?;
        let found = sqlx::query(sql::stale(request.user_id.is_some(), after.is_some()))
            .bind(Name(request.app_name.as_str()))
            .bind(request.user_id.as_ref().map(|user| Name(user.as_str())))
            .bind(after.map_or("", |after| after.user.as_str()))
            .bind(after.map_or("", |after| after.session.as_str()))
            .bind(PROJECTION)
            .bind(i64::try_from(PAGE).unwrap_or(i64::MAX))
            .fetch_all(&mut *connection)
            .await;
        sqlx::raw_sql("ROLLBACK").execute(connection).await?;
        let rows = match found {
            Ok(rows) => rows,
            Err(error) => return outcome(error, server),
        };
        let stale = |row: &PgRow| -> sqlx::Result<Stale> {
            let (user, session) = (row.try_get("user_id")?, row.try_get("session_id")?);
            Ok(Stale { user, session, events: row.try_get("events")? })
        };
        Ok(Outcome::Done(rows.iter().map(stale).collect::<sqlx::Result<_>>()?))
    }
}

/// Reads the events of sessions that may concern questions.
struct FindEvents<'r> {
    request: &'r ListQuestions,
    batch: &'r [Stale],
    server: &'r Server,
}

impl Ask for FindEvents<'_> {
    type Answer = Vec<Projected>;

    async fn ask(&self, connection: &mut PgConnection, _: bool) -> Result<Self::Answer, Trouble> {
        let app = &self.request.app_name;
        let users: Vec<&str> = self.batch.iter().map(|stale| stale.user.as_str()).collect();
        let sessions: Vec<&str> = self.batch.iter().map(|stale| stale.session.as_str()).collect();
        let query = sqlx::query(sql::events()).bind(Name(app.as_str())).bind(users).bind(sessions);
        let mut rows = query.fetch(connection);
        let mut gathering = Gathering::default();
        while let Some(row) = rows.try_next().await? {
            // Counted from one.
            let slot = usize::try_from(row.try_get::<i64, _>("slot")? - 1).unwrap_or(usize::MAX);
            let Some(stale) = self.batch.get(slot) else { continue };
            let created: String = row.try_get("created")?;
            let key = SessionKey::new(app, stale.user.as_str(), stale.session.as_str());
            let event = read_event(&row, row.try_get("id")?, &key, self.server)?;
            gathering.push(slot, event, || (key, created));
        }
        Ok(gathering.finish())
    }
}

/// Reads the projection.
struct Answer<'r> {
    request: &'r ListQuestions,
    server: &'r Server,
}

impl Ask for Answer<'_> {
    type Answer = Outcome<ListQuestionsResponse>;

    async fn ask(&self, connection: &mut PgConnection, _: bool) -> Result<Self::Answer, Trouble> {
        let request = self.request;
        let after = request.after.as_ref();
        // One more row than wanted shows that there is a next page.
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
            .fetch_all(connection)
            .await;
        let rows = match found {
            Ok(rows) => rows,
            Err(error) => return outcome(error, self.server),
        };
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            items.push(self.item(row)?);
        }
        Ok(Outcome::Done(ListQuestionsResponse::cut(items, request.limit)))
    }
}

impl Answer<'_> {
    /// The place and the question of a row; no question if its event does not ask it any more.
    fn item(&self, row: &PgRow) -> Result<(QuestionCursor, Option<InboxItem>), Trouble> {
        let (user, session): (&str, &str) = (row.try_get("user_id")?, row.try_get("session_id")?);
        let session = SessionKey::new(&self.request.app_name, user, session);
        let event = read_event(row, row.try_get("id")?, &session, self.server)?;
        let id: &str = row.try_get("question_id")?;
        let place = u32::try_from(row.try_get::<i64, _>("place")?).unwrap_or(u32::MAX);
        let cursor = QuestionCursor::new(&session, row.try_get("asked_at")?, place);
        let question = event.questions().into_iter().rfind(|question| question.id == id);
        Ok((cursor, question.map(|question| InboxItem { session, question })))
    }
}

/// What a failed statement on the projection means.
pub(crate) fn outcome<T>(error: sqlx::Error, server: &Server) -> Result<Outcome<T>, Trouble> {
    let code = error.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        // No such table, no such column.
        Some("42P01" | "42703") => Ok(Outcome::Missing),
        // No privilege, a server that is read only.
        Some("42501" | "25006") => {
            drop(code);
            Ok(Outcome::Unwritable(server.fault(error)))
        }
        _ => {
            drop(code);
            Err(error.into())
        }
    }
}

/// How many sessions are projected together: one at least, and no more events than a batch has.
fn batch_size(stale: &[Stale]) -> usize {
    let mut events = 0;
    let fits = |stale: &&Stale| {
        events += stale.events;
        events <= BATCH
    };
    stale.iter().take_while(fits).count().max(1)
}
