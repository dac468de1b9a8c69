//! Listing open questions from a stored projection: the operations that a backend provides, and the order in which
//! they are called.

use futures_util::future::try_join;
use pleach_core::{AppName, Event, SessionKey};

use super::{InboxItem, ListQuestions, ListQuestionsResponse, Open, Projected, QuestionCursor, asked_questions};
use crate::{GetSessionConfig, SessionError, SessionResult, SessionService, report_fault, walk_questions};

/// The number of out-of-date sessions that are looked up at once.
pub const PAGE: usize = 4096;
/// The number of sessions that are projected and stored at once.
const SESSIONS: usize = 512;
/// The approximate number of events of these sessions that are read at once.
const EVENTS: u64 = 4096;
/// How often one listing tries, creating missing tables before each try.
const TRIES: usize = 4;

/// A session whose projection is out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The user of the session.
    pub user: String,
    /// The id of the session.
    pub session: String,
    /// The approximate number of events that concern its questions. They are read to project the session.
    pub events: u64,
}

/// The reason why a projection cannot be used.
#[derive(Debug)]
pub enum ProjectionError {
    /// Its tables are missing, or differ from those that the backend creates.
    Missing,
    /// It cannot be written: a privilege is missing, or the storage is read-only.
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
/// The backend chooses which events it reads; they must include all events that [concern
/// questions](super::concerns_questions). The names of its tables contain the number
/// [`PROJECTION`](super::PROJECTION), so that versions of pleach that share a database do not touch each other's
/// tables.
pub trait Projection: SessionService {
    /// Creates the missing tables, unless they are known to exist. `anew` is `true` if an operation has found that
    /// they are missing.
    fn make(&self, anew: bool) -> impl Future<Output = ProjectionResult<()>> + Send;

    /// Returns the next [`PAGE`] sessions whose projection is out of date, in key order, starting after `after`.
    fn behind(
        &self,
        request: &ListQuestions,
        after: Option<&Behind>,
    ) -> impl Future<Output = ProjectionResult<Vec<Behind>>> + Send;

    /// Reads the events about questions in sessions of the request's app, and determines which questions are open.
    fn gather(
        &self,
        request: &ListQuestions,
        sessions: &[Behind],
    ) -> impl Future<Output = ProjectionResult<Vec<Projected>>> + Send;

    /// Stores the open questions, except for sessions whose stored projection already covers more events.
    fn store(&self, app: &AppName, sessions: Vec<Projected>) -> impl Future<Output = ProjectionResult<()>> + Send;

    /// Reads the requested page from the projection.
    fn answer(&self, request: &ListQuestions) -> impl Future<Output = ProjectionResult<ListQuestionsResponse>> + Send;

    /// Brings the projection up to date for the sessions of a request.
    fn refresh(&self, request: &ListQuestions) -> impl Future<Output = ProjectionResult<()>> + Send {
        refresh_projection(self, request)
    }

    /// Warns, once per service, that there is no projection and that every listing therefore loads every session.
    fn warn_of_walks(&self, reason: &SessionError);
}

/// Lists open questions from a projection, after creating it if it is missing and bringing it up to date. If the
/// projection cannot be written, every session is loaded instead.
///
/// # Errors
/// Every other failure. `Locked` may succeed on another try.
///
/// # Cancel safety
/// Sessions that were projected so far stay stored, and are correct.
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
    let reason = "another program drops or changes its tables, whose names begin with `pleach_`, while they are used. Stop that program and list again";
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

/// Projects the sessions that are out of date. This is the default of [`Projection::refresh`]. A backend may
/// override that method so that concurrent listings share one refresh.
///
/// # Errors
/// The errors of the projection's operations.
///
/// # Cancel safety
/// Sessions that were projected so far stay stored.
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

/// Projects sessions in batches, reading the next batch while one is stored.
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
        // Which events a rewind undoes depends on the whole history. If an event is appended at the same time, it is
        // read here but not counted, so the session is projected again by the next listing.
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

/// Returns how many sessions are projected together: at least one, and few enough that storing them takes no longer
/// than an append.
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
    /// The number of questions that the session asked before this one.
    pub place: i64,
    /// The time the question was asked, in seconds since the epoch.
    pub asked_at: f64,
    /// The id of the question.
    pub question: &'r str,
}

impl QuestionRow<'_> {
    /// Returns the key of the session that asks.
    #[must_use]
    pub fn key(&self, app: &AppName) -> SessionKey {
        SessionKey::new(app, self.user, self.session)
    }

    /// Returns the place and the question of the row. There is no question if `event` no longer asks it, or cannot be
    /// read; a read error is reported.
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
