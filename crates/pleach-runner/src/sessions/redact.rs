//! Redacts values of stored events.

use std::sync::Arc;

use pleach_core::{Event, EventId};
use pleach_session::{Redaction, SessionServiceExt as _};

use crate::{RunError, Runner, SessionRef};

impl Runner {
    /// Removes values from a stored event, such as a card number or a person's name, and returns the redacted event. The log stays
    /// valid: ids, times, calls, questions and the order of events do not change.
    ///
    /// Only this event changes. The value remains in the session's state, in its files and in other events that repeat
    /// it. If the invocation is resumed, it reads `"[redacted]"` in place of the value, for example as the output of a
    /// node that does not run again. An active run ends at its next event with a stale error, and [`Runner::resume`]
    /// continues it.
    ///
    /// The redaction is recorded with the time of the Runner's clock, unless [`Redaction::with_time`] sets another. ADK has no such call.
    ///
    /// # Errors
    /// [`RunError::UnknownSession`]; [`RunError::Session`] with
    /// [`SessionError::Redaction`](pleach_session::SessionError::Redaction), which names the path, or with the error of
    /// the storage. On an error nothing has changed.
    ///
    /// # Cancel safety
    /// If the future is dropped, the event is redacted completely or not at all.
    ///
    /// # Example
    /// ```
    /// # use pleach_runner::{RunError, Runner};
    /// # use pleach_session::Redaction;
    /// async fn forget_card(runner: &Runner, session: &str, event: &str) -> Result<(), RunError> {
    ///     let redaction = Redaction::new(["/output/card", "/content"], "request 4711 of the customer");
    ///     runner.redact(session, event, redaction).await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn redact(
        &self,
        session: impl Into<SessionRef>,
        event: impl Into<EventId>,
        redaction: Redaction,
    ) -> Result<Arc<Event>, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let redaction = match redaction.time() {
            Some(_) => redaction,
            None => redaction.with_time(self.parts.services.clock.now()),
        };
        Ok(self.parts.services.sessions.redact(&key, &event.into(), &redaction).await?)
    }
}
