//! The inbox of a service that keeps a projection: what its backend does, and in which order.

use futures_util::future::try_join;
use pleach_core::{AppName, Event, SessionKey};

use super::{InboxItem, ListQuestions, ListQuestionsResponse, Open, Projected, QuestionCursor, asked_questions};
use crate::{GetSessionConfig, SessionError, SessionResult, SessionService, report_fault, walk_questions};

/// How many sessions that are behind are looked for at once.
pub const PAGE: usize = 4096;
/// How many sessions are projected and stored at once.
const SESSIONS: usize = 512;
/// About how many of their events are read at once.
const EVENTS: u64 = 4096;
/// How often missing tables are made for one listing.
const TRIES: usize = 4;

/// A session whose projection is behind its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The user of the session.
    pub user: String,
    /// The id of the session.
    pub session: String,
    /// How many events may concern its questions.
    pub events: u64,
}

/// Why a projection gives no answer.
#[derive(Debug)]
pub enum ProjectionError {
    /// Its tables are missing, or not as the backend makes them.
    Missing,
    /// It cannot be written for want of a privilege, or because the storage is read-only.
    Unwritable(SessionError),
    /// Any other failure.
    Failed(SessionError),
}

impl From<SessionError> for ProjectionError {
    fn from(error: SessionError) -> Self {
        Self::Failed(error)
    }
}

/// The result of an operation on a projection.
pub type ProjectionResult<T> = Result<T, ProjectionError>;

/// The stored projection of a backend, which [`list_projected`] keeps up to date and reads.
///
/// Which events a backend considers is its own choice, as long as they include all that
/// [concern questions](super::concerns_questions). The names of its tables have the number [`PROJECTION`](super::PROJECTION),
/// so that versions of pleach side by side leave each other's alone.
pub trait Projection: SessionService {
    /// Makes the tables that are missing; `anew` after an operation has found them missing. Sound tables cost nothing.
    fn make(&self, anew: bool) -> impl Future<Output = ProjectionResult<()>> + Send;

    /// The next [`PAGE`] sessions that are behind, in the order of their keys, behind `after` if there is one.
    fn behind(
        &self,
        request: &ListQuestions,
        after: Option<&Behind>,
    ) -> impl Future<Output = ProjectionResult<Vec<Behind>>> + Send;

    /// Reads the events of sessions of the request's app that may concern questions, and what is open by them.
    fn gather(
        &self,
        request: &ListQuestions,
        sessions: &[Behind],
    ) -> impl Future<Output = ProjectionResult<Vec<Projected>>> + Send;

    /// Stores what is open, except for sessions that are projected from more events already.
    fn store(&self, app: &AppName, sessions: Vec<Projected>) -> impl Future<Output = ProjectionResult<()>> + Send;

    /// Reads the projection.
    fn answer(&self, request: &ListQuestions) -> impl Future<Output = ProjectionResult<ListQuestionsResponse>> + Send;

    /// Brings the projection up to date for the sessions that a listing is about.
    fn refresh(&self, request: &ListQuestions) -> impl Future<Output = ProjectionResult<()>> + Send {
        refresh_projection(self, request)
    }

    /// Logs, once per service, that there is no projection and every listing loads every session.
    fn warn_of_walks(&self, reason: &SessionError);
}

/// Answers from a projection, which is made when it is missing and brought up to date; by loading every session when it
/// cannot be written for want of a privilege.
///
/// # Errors
/// Every other failure: `Locked` may succeed when it is tried again.
///
/// # Cancel safety
/// What was projected stays; it is right whenever it is stored.
pub async fn list_projected<S: Projection + ?Sized>(
    sessions: &S,
    request: &ListQuestions,
) -> SessionResult<ListQuestionsResponse> {
    for attempt in 0..TRIES {
        match list_once(sessions, request, attempt > 0).await {
            Ok(answer) => return Ok(answer),
            Err(ProjectionError::Missing) => {}
            Err(ProjectionError::Failed(error)) => return Err(error),
            Err(ProjectionError::Unwritable(error)) => {
                sessions.warn_of_walks(&error);
                return walk_questions(sessions, request).await;
            }
        }
    }
    let what = format!("the inbox of app {}", request.app_name);
    let reason = "another program drops or changes its tables, whose names begin with `pleach_`, while they are used: stop it and list again";
    Err(SessionError::Unsupported { what, reason: reason.to_owned() })
}

async fn list_once<S: Projection + ?Sized>(
    sessions: &S,
    request: &ListQuestions,
    anew: bool,
) -> ProjectionResult<ListQuestionsResponse> {
    sessions.make(anew).await?;
    sessions.refresh(request).await?;
    sessions.answer(request).await
}

/// Projects the sessions that are behind: what [`Projection::refresh`] does unless a backend shares it between listings.
///
/// # Errors
/// Those of the projection's operations.
///
/// # Cancel safety
/// What was projected stays.
pub async fn refresh_projection<S: Projection + ?Sized>(sessions: &S, request: &ListQuestions) -> ProjectionResult<()> {
    let mut after = None;
    loop {
        let behind = sessions.behind(request, after.as_ref()).await?;
        project_all(sessions, request, &behind).await?;
        if behind.len() < PAGE {
            return Ok(());
        }
        after = behind.last().cloned();
    }
}

/// Projects sessions in batches. While one is stored, the next one is read.
async fn project_all<S: Projection + ?Sized>(
    sessions: &S,
    request: &ListQuestions,
    behind: &[Behind],
) -> ProjectionResult<()> {
    let mut rest = behind;
    let mut projected = Vec::new();
    while !rest.is_empty() {
        let (batch, others) = rest.split_at(batch_size(rest));
        let store = store(sessions, request, projected);
        ((), projected) = try_join(store, project(sessions, request, batch)).await?;
        rest = others;
    }
    store(sessions, request, projected).await
}

async fn store<S: Projection + ?Sized>(
    sessions: &S,
    request: &ListQuestions,
    projected: Vec<Projected>,
) -> ProjectionResult<()> {
    if projected.is_empty() {
        return Ok(());
    }
    sessions.store(&request.app_name, projected).await
}

async fn project<S: Projection + ?Sized>(
    sessions: &S,
    request: &ListQuestions,
    batch: &[Behind],
) -> ProjectionResult<Vec<Projected>> {
    let mut projected = sessions.gather(request, batch).await?;
    for session in projected.iter_mut().filter(|session| session.open == Open::InHistory) {
        // What a rewind takes back depends on every event. One that is appended meanwhile is read, and not counted: the
        // session is then projected again.
        session.open = match sessions.get_session(&session.key, GetSessionConfig::all()).await {
            Ok(whole) => Open::Questions(whole.map(|whole| asked_questions(&whole.events)).unwrap_or_default()),
            Err(error) if error.is_of_one_session() => {
                report_fault(&session.key, &error);
                Open::Unreadable
            }
            Err(error) => return Err(error.into()),
        };
    }
    Ok(projected)
}

/// How many sessions are projected together: one at least, and few enough that storing them is as quick as an append.
fn batch_size(behind: &[Behind]) -> usize {
    let mut events = 0;
    let fits = |behind: &&Behind| {
        events += behind.events;
        events <= EVENTS
    };
    behind.iter().take(SESSIONS).take_while(fits).count().max(1)
}

/// A row of a stored projection.
#[derive(Clone, Copy, Debug)]
pub struct QuestionRow<'r> {
    /// The user of the session.
    pub user: &'r str,
    /// The id of the session.
    pub session: &'r str,
    /// How many questions the session asked before it.
    pub place: i64,
    /// When it was asked, in seconds since the epoch.
    pub asked_at: f64,
    /// The id of the question.
    pub question: &'r str,
}

impl QuestionRow<'_> {
    /// The session that asks.
    #[must_use]
    pub fn key(&self, app: &AppName) -> SessionKey {
        SessionKey::new(app, self.user, self.session)
    }

    /// The place and the question of the row; no question if `event` does not ask it any more, or cannot be read, which is reported.
    #[must_use]
    pub fn read(&self, session: SessionKey, event: SessionResult<Event>) -> (QuestionCursor, Option<InboxItem>) {
        let place = u32::try_from(self.place).unwrap_or(u32::MAX);
        let cursor = QuestionCursor::new(&session, self.asked_at, place);
        let event = event.inspect_err(|error| report_fault(&session, error)).ok();
        let asked =
            event.and_then(|event| event.questions().into_iter().rfind(|question| question.id == self.question));
        (cursor, asked.map(|question| InboxItem { session, question }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Behind, SESSIONS, batch_size};

    #[test]
    fn a_batch_has_one_session_at_least_and_few_events() {
        let behind = |events| Behind { user: String::new(), session: String::new(), events };
        assert_eq!(batch_size(&[behind(1_000_000), behind(1)]), 1);
        assert_eq!(batch_size(&[behind(4000), behind(96), behind(1)]), 2);
        assert_eq!(batch_size(&vec![behind(1); 1000]), SESSIONS);
    }
}
