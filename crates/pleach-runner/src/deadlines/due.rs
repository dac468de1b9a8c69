//! [`Runner::due`]: the deadlines of a session, for schedulers that wait for them themselves.

use pleach_core::{Question, Session};
use pleach_session::open_questions;

use crate::app::inner::RunnerInner;
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
    /// A question whose default is refused is skipped, with a warning in the log: a new version of the program may ask for another type.
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
        let due = |question: &'_ Question| Some((question.deadline?, PendingDeadline::of(session.key(), question)?));
        let mut open: Vec<_> = questions.iter().filter_map(|question| Some((due(question)?, question))).collect();
        open.sort_by(|((_, a), _), ((_, b), _)| a.cmp(b));
        let now = self.parts.services.clock.now();
        let mut found = DueDeadlines::default();
        for ((time, due), question) in open {
            if found.request.is_some() || time > now {
                found.next = Some(time);
                break;
            }
            match self.parts.check_deadline(&due, question, &session) {
                Ok(request) => found.request = Some(request.queue(false).at(session.head.revision())),
                Err(error) => {
                    tracing::warn!(session = %due.session, question = due.question, %error, "a deadline cannot be answered");
                }
            }
        }
        Ok(found)
    }
}

impl RunnerInner {
    /// Returns the request that answers a question at its deadline.
    ///
    /// # Errors
    /// The default is refused, for example because a new version of the program asks for another type.
    fn check_deadline(
        &self,
        due: &PendingDeadline,
        question: &Question,
        session: &Session,
    ) -> Result<RunRequest, RunError> {
        let request = request_at_deadline(due, question, &session.events)?;
        self.check_answerable(&request, session)?;
        Ok(request)
    }
}
