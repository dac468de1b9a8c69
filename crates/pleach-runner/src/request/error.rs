//! [`RunError`]: why a run ended without its result.

use pleach_artifact::ArtifactError;
use pleach_context::{ChildFailure, DeadEnd, NodeError};
use pleach_core::{EventId, InvocationId, NodePath, Question, RefusedKey, SessionKey};
use pleach_session::SessionError;

/// Why a run ended without its result. All events that the run yielded before are stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The session does not exist, and the run does not create it.
    #[error("session not found: {0}; create it first, or check the app, user and session ids")]
    SessionNotFound(SessionKey),
    /// Sessions of several users have this id: name the user as well.
    #[error("session id '{id}' is ambiguous: users {users:?} have one; name the user as well: `(user, session)`")]
    AmbiguousSession {
        /// The session id.
        id: String,
        /// The users.
        users: Vec<String>,
    },
    /// No user of the app has a session with this id.
    #[error("app '{app}' has no session with the id '{id}': check the id, or run `(user, session)` to create one")]
    UnknownSession {
        /// The app.
        app: String,
        /// The session id.
        id: String,
    },
    /// The message is not acceptable; nothing was stored.
    // R904, R1104
    #[error("{0}; nothing was stored")]
    Message(NodeError),
    /// No effective event of the session asks a question with one of these ids; nothing was stored.
    #[error("there is no question {} in this session{}", quoted(.ids), open_text(.open))]
    UnknownQuestion {
        /// The ids that were answered.
        ids: Vec<String>,
        /// The ids of the questions that are open, at most 10.
        open: Vec<String>,
    },
    /// Several invocations wait for an answer to a question with this id; nothing was stored.
    #[error("question '{id}' is open in several invocations ({}): name it by `(invocation, id)` or by a `&Question`", quoted_ids(.invocations))]
    AmbiguousQuestion {
        /// The question's id.
        id: String,
        /// The invocations that wait.
        invocations: Vec<InvocationId>,
    },
    /// The question accepts no further answer; nothing was stored. There are four reasons: a run that used an earlier
    /// answer has completed, the deadline has passed, another question of the same select has been answered, or the
    /// question is not open and [`AnswerOptions::only_if_open`](crate::AnswerOptions::only_if_open) is set.
    #[error(
        "question '{id}' of invocation {invocation} has already been answered, so this answer was not stored. \
         To change it, rewind the session with `Runner::rewind`"
    )]
    AlreadyAnswered {
        /// The question's id.
        id: String,
        /// The invocation that asked.
        invocation: InvocationId,
    },
    /// The caller may not answer the question; nothing was stored. See [`MayAnswer`](crate::MayAnswer).
    #[error("question '{id}' is not the caller's to answer{}; nothing was stored", assigned(.assignee))]
    MayNotAnswer {
        /// The question's id.
        id: String,
        /// The person or role that the question is assigned to.
        assignee: Option<String>,
    },
    /// The request changes a state key that its caller may not change; nothing was stored.
    #[error("{0}; nothing was stored")]
    RefusedState(RefusedKey),
    /// The invocation was aborted: it takes no answers and cannot be resumed. Nothing was stored.
    #[error("invocation {invocation} was aborted and cannot continue: send a message to start a new one")]
    InvocationAborted {
        /// The invocation.
        invocation: InvocationId,
    },
    /// The session does not belong to the Runner's app.
    #[error("session {session} belongs to another app, not to '{app}'. Use the Runner of that app")]
    OtherApp {
        /// The session.
        session: SessionKey,
        /// The Runner's app.
        app: String,
    },
    /// The session has no effective event of this invocation: the invocation does not exist, or it was rewound.
    #[error(
        "session {session} has no invocation '{invocation}', or it was rewound. Use the `invocation_id()` of one of its effective events"
    )]
    UnknownInvocation {
        /// The session.
        session: SessionKey,
        /// The invocation's id.
        invocation: String,
    },
    /// The session service has stored an event but not applied its state operations, so concurrent changes of the same
    /// keys may be lost.
    #[error(
        "the session service stored event {event} without applying its state operations: use a service that supports them \
             (`EventActions::state_ops`), or write state with `State::set`"
    )]
    OperationsIgnored {
        /// The event's id.
        event: EventId,
    },
    /// The session has no event with this id.
    #[error("session {session} has no event '{event}': take the id from one of its stored events")]
    UnknownEvent {
        /// The session.
        session: SessionKey,
        /// The event's id.
        event: String,
    },
    /// The effective events of the session have no node run at this path.
    #[error("session {session} has no run at the path '{path}': take the path from one of its stored events")]
    UnknownRun {
        /// The session.
        session: SessionKey,
        /// The path.
        path: NodePath,
    },
    /// A user, session or invocation id is empty or blank.
    #[error("the {0} id must not be blank: use at least one visible character")]
    BlankId(&'static str),
    /// An answer does not fit its question; nothing was stored and the question stays open.
    // R907
    #[error(
        "the answer to question '{id}' was refused: {reason}. Nothing was stored and the question is still open; answer it again"
    )]
    Answer {
        /// The question's id.
        id: String,
        /// The dotted path of the field that does not fit, such as `items.0.count`; `None` if the answer as a whole
        /// does not fit.
        field: Option<String>,
        /// The reason why the answer does not fit.
        reason: String,
    },
    /// The session service failed. The event that it could not append is not stored, unless the error states otherwise.
    ///
    /// [`SessionError::Stale`] means that another writer has changed the session at the same time, in this process or
    /// another one: another invocation, an answer, a claim, an abort or a redaction. If this happens before the message
    /// is stored, nothing is stored. If it happens later, the events that the run has yielded stay stored, and the
    /// invocation can be resumed.
    #[error("{}", session_text(.0))]
    Session(SessionError),
    /// The artifact service failed.
    #[error("artifact service failed: {0}")]
    Artifact(ArtifactError),
    /// A plugin's hook failed.
    #[error("{}", .0.with_causes())]
    Plugin(NodeError),
    /// Toolsets could not be closed.
    #[error("{}", .0.with_causes())]
    Toolset(NodeError),
    /// A node failed; its error event is stored.
    #[error("{path} failed with {}: {}", .error.class(), .error.with_causes())]
    Node {
        /// The error.
        error: NodeError,
        /// The run that failed.
        path: NodePath,
    },
    /// The run has paused: these questions are open. Sleeps and waits for signals are questions as well.
    #[error(
        "the run has paused; open questions: {}. Answer people's questions with `Runner::answer` and send signals with \
         `Runner::signal`; sleeps end by themselves",
        ids(.0)
    )]
    Waiting(Vec<Question>),
    /// The run's output cannot be read as the requested type.
    #[error(
        "the output of the run cannot be read as the requested type: {}. Call `output::<T>()` with the type that the root node returns",
        .0.with_causes()
    )]
    Output(NodeError),
    /// The run ended without an output: its terminal node returned none.
    #[error(
        "the run produced no output: its last node returned nothing; return a value from it, or read the run's events"
    )]
    NoOutput,
    /// The root is an agent, and its reply is not an output. [`Run::reply`](crate::Run::reply) returns its text.
    #[error(
        "agent '{agent}' produced no output: {reason}; call `reply()` for the text, or set the type of the answer with \
         `LlmAgentBuilder::output_schema`"
    )]
    NoReply {
        /// The agent's name.
        agent: String,
        /// Why there is no output.
        reason: String,
    },
    /// The run ended without an output, because branches ended before a terminal node of the graph.
    #[error("the run produced no output: {}", dead_ends(.0))]
    DeadEnd(Vec<DeadEnd>),
    /// A detached run is active in the session: follow it, wait for its end, or abort it. Nothing was stored.
    #[error(
        "a detached run{} is working on session {session}; nothing was stored. Wait for it, abort it, or queue the message \
         with `RunRequest::queue(true)`",
        of(.invocation)
    )]
    Busy {
        /// The session.
        session: SessionKey,
        /// The active invocation, once its message is stored.
        invocation: Option<InvocationId>,
    },
    /// The invocation was started with a different message; nothing was stored.
    #[error(
        "invocation {invocation} of session {session} already exists with a different message. Send the same message, or use \
         a new invocation id"
    )]
    OtherMessage {
        /// The session.
        session: SessionKey,
        /// The invocation.
        invocation: InvocationId,
    },
    /// The invocation was started with a different state delta, and state can no longer be added to it; nothing was
    /// stored.
    #[error(
        "invocation {invocation} of session {session} already exists with different state. Send the same state or none, or \
         use a new invocation id"
    )]
    OtherState {
        /// The session.
        session: SessionKey,
        /// The invocation.
        invocation: InvocationId,
    },
    /// The invocation has begun but not ended, and this Runner does not run it: another process runs it, or it was
    /// interrupted. Nothing was run or stored.
    #[error(
        "invocation {invocation} of session {session} has not ended, and this process is not running it. Wait if another \
         process is; otherwise call `Runner::resume`"
    )]
    Unfinished {
        /// The session.
        session: SessionKey,
        /// The invocation.
        invocation: InvocationId,
    },
    /// A signal was sent to a session whose last invocation has ended, so no run could receive it. Nothing was stored.
    #[error(
        "session {session} has no run that could take signal '{signal}', because its last invocation has ended; nothing was \
         stored. Send a message to start another one"
    )]
    NoReceiver {
        /// The session.
        session: SessionKey,
        /// The name of the signal.
        signal: String,
    },
    /// The Runner is being drained and takes no new runs. Nothing was stored.
    #[error("this Runner is shutting down (`drain`) and accepts no new runs. Send the request to another process")]
    Draining,
    /// A run that this caller joined or followed has failed. The caller who started the run received the error itself.
    #[error("{message}")]
    Followed {
        /// The class of the error.
        code: String,
        /// Its text.
        message: String,
    },
    /// Several parts failed to close; all others are closed.
    #[error("closing failed: {}", texts(.0))]
    Close(Vec<RunError>),
    /// The run was stopped before its end.
    #[error("the run was aborted: send a message to start a new one")]
    Aborted,
    /// The copy of a session was cut off because the runtime ended or a service panicked; a part of the copy may be
    /// stored.
    #[error("the copy to session {session} was cut off before it was complete: delete that session and fork again")]
    ForkCut {
        /// The new session.
        session: SessionKey,
    },
    /// The run was cut off: it was dropped, stopped by [`Run::close`](crate::Run::close),
    /// [`Detached::cut`](crate::Detached::cut) or a drain, it panicked, or its runtime ended. The session does not
    /// record this, and [`Runner::resume`](crate::Runner::resume) continues the invocation.
    #[error("{}", cut_text(.invocation))]
    Cut {
        /// The invocation; `None` when its message was not stored yet.
        invocation: Option<InvocationId>,
    },
}

fn session_text(error: &SessionError) -> String {
    match error {
        SessionError::Stale { key, .. } => {
            format!(
                "another writer changed session {key} at the same time. Resume the invocation, or send the message again"
            )
        }
        other => format!("session service failed: {other}"),
    }
}

fn cut_text(invocation: &Option<InvocationId>) -> String {
    match invocation {
        Some(id) => format!("the run of invocation {id} was cut off before it ended: resume the invocation"),
        None => "the run was cut off before its message was stored: start it again".to_owned(),
    }
}

fn texts(errors: &[RunError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn dead_ends(ends: &[DeadEnd]) -> String {
    ends.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn assigned(assignee: &Option<String>) -> String {
    assignee.as_ref().map(|assignee| format!(": it is assigned to '{assignee}'")).unwrap_or_default()
}

fn of(invocation: &Option<InvocationId>) -> String {
    invocation.as_ref().map(|id| format!(" of invocation {id}")).unwrap_or_default()
}

/// The maximum number of ids in an error.
const SHOWN_IDS: usize = 10;
/// The maximum number of characters of an id in an error.
const SHOWN_CHARS: usize = 80;

/// Returns the ids of open questions that an error shows.
pub(crate) fn open_ids(open: &[Question]) -> Vec<String> {
    open.iter().take(SHOWN_IDS).map(|question| question.id.clone()).collect()
}

fn open_text(open: &[String]) -> String {
    match open {
        [] => " (none is open); nothing was stored".to_owned(),
        open => format!(" (open: {}); nothing was stored. Answer one of the open ones", quoted(open)),
    }
}

fn quoted_ids(ids: &[InvocationId]) -> String {
    quoted(&ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>())
}

fn ids(questions: &[Question]) -> String {
    let ids: Vec<&str> = questions.iter().map(|question| question.id.as_str()).collect();
    ids.join(", ")
}

pub(crate) fn quoted(ids: &[String]) -> String {
    let shortened = |id: &String| match id.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("'{}…'", &id[..end]),
        None => format!("'{id}'"),
    };
    let mut shown: Vec<String> = ids.iter().take(SHOWN_IDS).map(shortened).collect();
    if ids.len() > SHOWN_IDS {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

// The text contains the causes, so there is no `source()`.
impl From<ChildFailure> for RunError {
    fn from(failure: ChildFailure) -> Self {
        Self::Node { error: failure.error, path: failure.path }
    }
}

impl From<RefusedKey> for RunError {
    fn from(refused: RefusedKey) -> Self {
        Self::RefusedState(refused)
    }
}

impl From<SessionError> for RunError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<ArtifactError> for RunError {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(error)
    }
}

impl RunError {
    /// Returns the class of the error: ADK's name, or the class of the failed node's error.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::SessionNotFound(_) | Self::UnknownSession { .. } => "SessionNotFoundError",
            Self::AmbiguousSession { .. }
            | Self::UnknownQuestion { .. }
            | Self::AmbiguousQuestion { .. }
            | Self::OtherApp { .. }
            | Self::BlankId(_) => "ValueError",
            Self::AlreadyAnswered { .. } => "AlreadyAnsweredError",
            Self::MayNotAnswer { .. } | Self::RefusedState(_) => "PermissionError",
            Self::InvocationAborted { .. } => "InvocationAbortedError",
            Self::UnknownInvocation { .. } => "InvocationNotFoundError",
            Self::OperationsIgnored { .. } => "UnsupportedStorageError",
            Self::UnknownEvent { .. } => "EventNotFoundError",
            Self::UnknownRun { .. } => "NodeRunNotFoundError",
            Self::NoOutput | Self::NoReply { .. } | Self::DeadEnd(_) => "ValidationError",
            Self::Answer { .. } => "WorkflowDataError",
            Self::Session(error) => error.code(),
            Self::Artifact(error) => error.code(),
            Self::Message(error)
            | Self::Plugin(error)
            | Self::Toolset(error)
            | Self::Node { error, .. }
            | Self::Output(error) => error.class(),
            Self::Waiting(_) => "NodeInterruptedError",
            Self::OtherMessage { .. } | Self::OtherState { .. } => "ValueError",
            Self::Busy { .. } | Self::Unfinished { .. } => "SessionBusyError",
            Self::NoReceiver { .. } => "SignalNotExpectedError",
            Self::Draining => "RunnerDrainingError",
            Self::Close(_) => "RuntimeError",
            Self::Followed { code, .. } => code,
            Self::Aborted => "INVOCATION_ABORTED",
            Self::Cut { .. } => "INVOCATION_CUT",
            Self::ForkCut { .. } => "RuntimeError",
        }
    }

    /// Returns the text of the error without the path of the failed run; ADK's exception has the same text.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Message(error) | Self::Plugin(error) | Self::Node { error, .. } => error.message().to_owned(),
            Self::SessionNotFound(key) => format!("session not found: {key}"),
            Self::UnknownQuestion { ids, .. } => {
                format!("Function call not found for function response ids: {{{}}}.", quoted(ids))
            }
            Self::UnknownInvocation { invocation, .. } => format!("Invocation ID not found: {invocation}"),
            other => other.to_string(),
        }
    }

    /// Returns the error for another caller of the same run: a copy if the error can be copied, otherwise its class and
    /// text.
    pub(crate) fn shared(&self) -> Self {
        match self {
            Self::Node { error, path } => Self::Node { error: error.clone(), path: path.clone() },
            Self::Plugin(error) => Self::Plugin(error.clone()),
            Self::Session(SessionError::Stale { key, stored, ours }) => {
                Self::Session(SessionError::Stale { key: key.clone(), stored: *stored, ours: *ours })
            }
            Self::SessionNotFound(key) => Self::SessionNotFound(key.clone()),
            Self::Busy { session, invocation } => {
                Self::Busy { session: session.clone(), invocation: invocation.clone() }
            }
            Self::Unfinished { session, invocation } => {
                Self::Unfinished { session: session.clone(), invocation: invocation.clone() }
            }
            Self::Waiting(questions) => Self::Waiting(questions.clone()),
            Self::Draining => Self::Draining,
            Self::Aborted => Self::Aborted,
            Self::Cut { invocation } => Self::Cut { invocation: invocation.clone() },
            Self::OtherState { session, invocation } => {
                Self::OtherState { session: session.clone(), invocation: invocation.clone() }
            }
            other => Self::Followed { code: other.code().to_owned(), message: other.to_string() },
        }
    }

    /// Returns the error as plugins receive it.
    pub(crate) fn to_node_error(&self) -> NodeError {
        match self {
            Self::Message(error) | Self::Plugin(error) | Self::Node { error, .. } | Self::Output(error) => {
                error.clone()
            }
            other => NodeError::new(other.code().to_owned(), other.to_string()),
        }
    }
}
