//! [`OutgoingSignal`]: a signal on its way to a session, and its options.

use pleach_context::{NodeError, RunConfig};
use pleach_core::{Event, EventId, InvocationId, Question, QuestionKind, Revision, bound_event};
use serde_json::Value;

use crate::RunError;

/// The options of [`Runner::signal_with`](crate::Runner::signal_with).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SignalOptions {
    /// A key that is unique among the session's signals of this name. A signal with a key is stored once, however often
    /// it is sent.
    pub idempotency_key: Option<String>,
    /// The settings of the run that continues with the signal.
    pub config: RunConfig,
    /// The revision that the session must have; `None` for any.
    pub at: Option<Revision>,
}

impl SignalOptions {
    /// Returns the options of [`Runner::signal`](crate::Runner::signal): the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key that is unique among the session's signals of this name. The signal is then stored once, however
    /// often it is sent. Services that send webhooks include such an id in each of them.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Stores the signal only if the session has this revision. At another revision the call fails with
    /// [`SessionError::Stale`](pleach_session::SessionError::Stale); it does not try again. While a run of this Runner
    /// works on the session, the call fails with [`RunError::Busy`](crate::RunError::Busy). A signal that is stored already is
    /// [`Repeated`](crate::SignalOutcome::Repeated) at any revision. See [`RunRequest::at`](crate::RunRequest::at).
    #[must_use]
    pub fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// Sets the settings of the run that continues with the signal.
    #[must_use]
    pub fn config(mut self, config: RunConfig) -> Self {
        self.config = config;
        self
    }
}

/// A signal on its way to a session.
#[derive(Clone)]
pub(crate) struct OutgoingSignal {
    pub(crate) name: String,
    pub(crate) payload: Value,
    /// The id of the event that stores the signal.
    pub(crate) id: EventId,
    /// Whether the caller has set an idempotency key.
    pub(crate) is_keyed: bool,
    pub(crate) config: RunConfig,
    pub(crate) at: Option<Revision>,
}

impl OutgoingSignal {
    /// Returns `true` if the question is a wait for this signal.
    pub(crate) fn is_awaited_by(&self, question: &Question) -> bool {
        question.kind == QuestionKind::Signal && question.message == self.name
    }

    /// Makes the event that keeps the signal.
    pub(crate) fn event(&self, invocation: &InvocationId) -> Result<Event, RunError> {
        let mut event = Event::keeping_signal(invocation, &self.name, self.payload.clone());
        bound_event(&mut event).map_err(|fault| refused(&self.name, fault))?;
        event.set_id(self.id.clone());
        Ok(event)
    }
}

pub(crate) fn refused(name: &str, fault: impl std::fmt::Display) -> RunError {
    RunError::Message(NodeError::validation(format!("the payload of signal '{name}' is refused: {fault}")))
}
