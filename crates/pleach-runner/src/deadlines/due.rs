//! [`Runner::due`]: the deadlines of a session, for schedulers that wait for them themselves.

use pleach_core::Question;
use pleach_session::open_questions;

use crate::deadlines::answer::request_at_deadline;
use crate::deadlines::schedule::PendingDeadline;
use crate::sessions::resting_fork::resting_source;
use crate::{RunError, RunRequest, Runner, SessionRef};

/// The deadlines of a session's open questions and sleeps.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DueDeadlines {
    /// The request that answers the question whose deadline passed first, or ends its sleep. It runs only if the session has not changed
    /// since it was read ([`RunRequest::at`]). `None` if no deadline has passed.
    pub request: Option<RunRequest>,
    /// The time of the next deadline after that, in seconds since the epoch. It may have passed as well.
    pub next: Option<f64>,
}

impl Runner {
    /// Returns what is due in a session, for a scheduler that waits for deadlines itself: see
    /// [`RunnerBuilder::external_timers`](crate::RunnerBuilder::external_timers). Start the request, call this again when its run has ended, and
    /// so on until there is no request; then wait for [`DueDeadlines::next`].
    ///
    /// Every process computes the same event id for the answer of a deadline, so it is stored once. A [copy](Runner::fork) that nothing has
    /// continued has no deadlines. The whole session is read once.
    ///
    /// # Errors
    /// The errors of [`Runner::questions`].
    ///
    /// # Cancel safety
    /// The call only reads.
    ///
    /// ADK: none.
    pub async fn due(&self, session: impl Into<SessionRef>) -> Result<DueDeadlines, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let session = self.parts.load_all(&key).await?;
        if resting_source(&session).is_some() {
            return Ok(DueDeadlines::default());
        }
        let questions = open_questions(&session.events);
        let deadline = |question: &Question| Some((question.deadline?, PendingDeadline::of(session.key(), question)?));
        let mut open: Vec<_> = questions.iter().filter_map(|question| Some((deadline(question)?, question))).collect();
        open.sort_by(|((_, a), _), ((_, b), _)| a.cmp(b));
        let mut open = open.into_iter();
        let Some(((time, first), question)) = open.next() else { return Ok(DueDeadlines::default()) };
        if time > self.parts.services.clock.now() {
            return Ok(DueDeadlines { request: None, next: Some(time) });
        }
        let request = request_at_deadline(&first, question, &session.events)?.queue(false).at(session.head.revision());
        Ok(DueDeadlines { request: Some(request), next: open.next().map(|((time, _), _)| time) })
    }
}
