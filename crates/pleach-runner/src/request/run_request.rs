//! [`RunRequest`]: a request for a run.

use std::fmt;

use pleach_context::{AbortSignal, RunConfig};
use pleach_core::{
    Content, EventId, InvocationId, Map, Part, Question, Revision, Session, SessionId, SessionKey, StateRights,
    Unstorable, UserId, bound_message,
};
use pleach_session::SessionError;
use serde_json::Value;

use crate::answers::check_message::{response_part, too_deep_answer};
use crate::request::message::of_parts;
use crate::request::question_ref::{AnswerChecks, IfAnswered};
use crate::{AnswerOptions, Message, QuestionRef, RunError};

/// A request to start or resume an invocation. ADK: the arguments of `run_async`.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunRequest {
    /// The session.
    pub session: SessionRef,
    /// The user's message, or answers to questions.
    pub message: Option<Content>,
    /// The invocation to resume, or the id of a new one.
    ///
    /// With a message this is the idempotency key of the run: the invocation runs once, however often the request is
    /// sent.
    /// - The first request starts the invocation. If this Runner or a clone is running it, further requests join that
    ///   run. They receive all its events, except fragments from before they joined, and the same output, questions or
    ///   error. The run continues as long as one of its readers polls it.
    /// - After its end, further requests run and store nothing. They return the recorded result: the output,
    ///   [`RunError::Waiting`], [`RunError::Aborted`], or, if the root has no retries, its failure as
    ///   [`RunError::Node`]. They yield no events: read the replies of agents from the session.
    /// - [`RunError::Unfinished`] is returned if this Runner does not run the invocation and its log does not show an
    ///   end: another process runs it, it was interrupted, or a node below its root has failed.
    /// - [`RunError::OtherMessage`] is returned for a different message under the same id.
    ///
    /// Without a message the invocation continues where it failed or was interrupted. If this Runner is running it, the
    /// request joins that run as well.
    ///
    /// [`RunError::Waiting`]: crate::RunError::Waiting
    /// [`RunError::Aborted`]: crate::RunError::Aborted
    /// [`RunError::Node`]: crate::RunError::Node
    /// [`RunError::Unfinished`]: crate::RunError::Unfinished
    /// [`RunError::OtherMessage`]: crate::RunError::OtherMessage
    /// [`RunError::OtherState`]: crate::RunError::OtherState
    pub invocation_id: Option<InvocationId>,
    /// The state changes stored with the message.
    pub state_delta: Map,
    /// The keys that `state_delta` may change.
    pub(crate) state_rights: StateRights,
    /// The changes of reserved keys.
    pub(crate) reserved_state_delta: Map,
    /// The sender of the request, if it is known.
    pub(crate) caller: Option<UserId>,
    /// The settings.
    pub config: RunConfig,
    /// Whether the run also yields the stored event of the message.
    pub yield_user_message: bool,
    /// The signal with which the caller aborts the invocation.
    pub abort: AbortSignal,
    /// Whether the run waits for a detached run of the same session instead of failing with
    /// [`RunError::Busy`](crate::RunError::Busy). See [`RunRequest::queue`].
    pub queue: bool,
    /// The id of the message's event; if `None`, the event gets a new id.
    pub(crate) message_id: Option<EventId>,
    /// Whether another process may store the same answer at the same time, so that finding it answered is not an error.
    pub(crate) is_shared: bool,
    /// Whether the message is the answer of a deadline.
    pub(crate) by_deadline: bool,
    /// Whether the run only returns the recorded result, if it has no message to store.
    pub(crate) observes: bool,
    /// The number of this resume among the recoveries without progress; `None` for a resume that is not a recovery.
    pub(crate) recovery: Option<u32>,
    /// The revision that the session must have; otherwise the run fails as stale.
    pub(crate) at: Option<Revision>,
    /// The checks that [`Runner::answer`](crate::Runner::answer) requests for the message.
    pub(crate) answer_checks: Option<AnswerChecks>,
    /// The fault of a message or state that was removed from the request because it was nested too deep.
    pub(crate) refused: Option<Box<Refused>>,
}

/// The fault of a message or state that cannot be stored.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    /// The id of the question, if the fault is in an answer.
    pub(crate) answer: Option<String>,
    pub(crate) fault: Unstorable,
}

impl RunRequest {
    /// Returns a request for a session, without a message.
    pub fn new(session: impl Into<SessionRef>) -> Self {
        Self {
            session: session.into(),
            message: None,
            invocation_id: None,
            state_delta: Map::new(),
            state_rights: StateRights::default(),
            reserved_state_delta: Map::new(),
            caller: None,
            config: RunConfig::default(),
            yield_user_message: false,
            abort: AbortSignal::new(),
            queue: false,
            message_id: None,
            is_shared: false,
            by_deadline: false,
            observes: false,
            recovery: None,
            at: None,
            answer_checks: None,
            refused: None,
        }
    }

    /// Returns the request that answers questions of a session. The first part answers the first question, and so on.
    pub(crate) fn answering(
        session: impl Into<SessionRef>,
        questions: Vec<QuestionRef>,
        parts: Vec<Part>,
        options: AnswerOptions,
    ) -> Self {
        let AnswerOptions { only_if_open, queue, config, caller, at, event_id } = options;
        let mut request = Self::new(session).message(of_parts(parts)).config(config).queue(queue);
        request.caller = caller;
        request.at = at;
        request.message_id = event_id;
        let if_answered = if only_if_open { IfAnswered::IsRefused } else { IfAnswered::Replaces };
        request.answer_checks = (!questions.is_empty()).then_some(AnswerChecks { questions, if_answered });
        request
    }

    /// Returns the request that answers an open question, in an event with this id, which other processes may store as well.
    ///
    /// # Errors
    /// An answer that cannot be written as JSON.
    pub(crate) fn answering_open(
        session: &SessionKey,
        question: &Question,
        answer: Value,
        id: EventId,
        config: RunConfig,
    ) -> Result<Self, RunError> {
        let options = AnswerOptions::new().only_if_open(true).queue(true).config(config).event_id(id);
        let part = response_part(&question.id, answer)?;
        Ok(Self { is_shared: true, ..Self::answering(session, vec![question.into()], vec![part], options) })
    }

    /// Removes a message or state that is nested too deep, before anything copies it, and sets `refused`.
    pub(crate) fn bounded(mut self) -> Self {
        // A resume without an id is refused when it starts.
        if self.message.is_some() {
            self.invocation_id = self.invocation_id.filter(|id| !id.as_str().trim().is_empty());
        }
        let answer = self.message.as_ref().and_then(too_deep_answer);
        if let Err(fault) = bound_message(&mut self.message, &mut self.state_delta) {
            self.refused = Some(Box::new(Refused { answer, fault }));
        }
        self
    }

    /// Returns `true` if the message answers questions.
    pub(crate) fn answers(&self) -> bool {
        self.message.as_ref().is_some_and(|message| message.function_responses().next().is_some())
    }

    /// Sets the user's message.
    #[must_use]
    pub fn message(mut self, message: impl Into<Message>) -> Self {
        let (content, fault) = message.into().into_parts();
        self.message = Some(content);
        self.refused = fault.map(|fault| Box::new(Refused { answer: None, fault }));
        self
    }

    /// Sets the invocation to resume, or the id of a new one.
    #[must_use]
    pub fn invocation_id(mut self, id: impl Into<InvocationId>) -> Self {
        self.invocation_id = Some(id.into());
        self
    }

    /// Sets the state changes stored with the message. A [reserved](pleach_core::is_reserved_state_key) key with its
    /// stored value is left out, so a client may send back a whole state. If the value differs, the run fails with
    /// [`RunError::RefusedState`](crate::RunError::RefusedState).
    #[must_use]
    pub fn state_delta(mut self, delta: Map) -> Self {
        self.state_delta = delta;
        self
    }

    /// Sets the keys that `state_delta` may change, for a delta that a client has sent.
    #[must_use]
    pub fn state_rights(mut self, rights: StateRights) -> Self {
        self.state_rights = rights;
        self
    }

    /// Sets changes of reserved state keys, such as those of `BudgetPlugin::reset`. They must not come from a client.
    #[must_use]
    pub fn reserved_state_delta(mut self, delta: Map) -> Self {
        self.reserved_state_delta = delta;
        self
    }

    /// Names the sender of the request. [`MayAnswer`](crate::MayAnswer) decides which questions this caller may answer.
    /// If no caller is named, the default rule allows every answer.
    #[must_use]
    pub fn caller(mut self, caller: impl Into<UserId>) -> Self {
        self.caller = Some(caller.into());
        self
    }

    /// Sets the settings.
    #[must_use]
    pub fn config(mut self, config: RunConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets whether the run also yields the stored event of the message.
    #[must_use]
    pub fn yield_user_message(mut self, yes: bool) -> Self {
        self.yield_user_message = yes;
        self
    }

    /// Sets whether to wait for the end of a detached run that keeps the session busy. Queued runs begin one after the
    /// other, in the order in which they were first polled; dropping a run removes it from the queue. At most
    /// [`RunnerBuilder::max_queued_runs`](crate::RunnerBuilder::max_queued_runs) runs of a session wait; further ones
    /// fail with [`RunError::Busy`](crate::RunError::Busy). The runs wait for runs of this Runner and its clones, and with
    /// [heartbeats](crate::RunnerBuilder::heartbeat) for runs of other processes.
    #[must_use]
    pub fn queue(mut self, yes: bool) -> Self {
        self.queue = yes;
        self
    }

    /// Runs only if the session has this revision. At another revision the run fails with
    /// [`SessionError::Stale`](pleach_session::SessionError::Stale) before it stores or executes anything. A scheduler that has decided
    /// which process works on a session, after this process loaded it, starts runs in this way: [`SessionStatus`](crate::SessionStatus)
    /// and [`Runner::due`](crate::Runner::due) have the revision.
    ///
    /// ADK: none.
    #[must_use]
    pub fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// Sets the id of the event that stores the message, so that the caller finds in the log whether an earlier try has stored it. The id has
    /// no effect if nothing is left to store. A second event with the id is refused with
    /// [`SessionError::EventAlreadyExists`](pleach_session::SessionError::EventAlreadyExists).
    ///
    /// ADK: none.
    #[must_use]
    pub fn message_event_id(mut self, id: impl Into<EventId>) -> Self {
        self.message_id = Some(id.into());
        self
    }

    /// Sets the signal with which the caller aborts the invocation.
    #[must_use]
    pub fn abort_signal(mut self, signal: AbortSignal) -> Self {
        self.abort = signal;
        self
    }
}

/// Checks whether the session has the revision that a caller names, if it names one.
///
/// # Errors
/// [`SessionError::Stale`].
pub(crate) fn check_revision(at: Option<Revision>, session: &Session) -> Result<(), RunError> {
    let stored = session.head.revision();
    match at.filter(|at| *at != stored) {
        Some(ours) => Err(SessionError::Stale { key: session.key().clone(), stored, ours }.into()),
        None => Ok(()),
    }
}

/// The output omits the message and the state, because an answer may be a credential.
impl fmt::Debug for RunRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest")
            .field("session", &self.session)
            .field("invocation_id", &self.invocation_id)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A reference to a session: by user and id, by key, or by id alone if only one user has a session with this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRef {
    /// The session of this user.
    Of(UserId, SessionId),
    /// The only session with this id.
    Only(SessionId),
    /// The session with this key, which must belong to the Runner's app.
    Key(SessionKey),
}

impl SessionRef {
    /// Returns the session's id.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        match self {
            Self::Of(_, id) | Self::Only(id) => id,
            Self::Key(key) => &key.session_id,
        }
    }

    /// Returns the user, if the reference names one.
    #[must_use]
    pub fn user_id(&self) -> Option<&UserId> {
        match self {
            Self::Of(user, _) => Some(user),
            Self::Only(_) => None,
            Self::Key(key) => Some(&key.user_id),
        }
    }
}

impl From<SessionKey> for SessionRef {
    fn from(key: SessionKey) -> Self {
        Self::Key(key)
    }
}

impl From<&SessionKey> for SessionRef {
    fn from(key: &SessionKey) -> Self {
        Self::Key(key.clone())
    }
}

impl From<&str> for SessionRef {
    fn from(id: &str) -> Self {
        Self::Only(id.into())
    }
}

impl From<String> for SessionRef {
    fn from(id: String) -> Self {
        Self::Only(id.into())
    }
}

impl From<SessionId> for SessionRef {
    fn from(id: SessionId) -> Self {
        Self::Only(id)
    }
}

impl<U: Into<UserId>, S: Into<SessionId>> From<(U, S)> for SessionRef {
    fn from((user, session): (U, S)) -> Self {
        Self::Of(user.into(), session.into())
    }
}
