//! [`Retry`]: what a scheduler does with a run that has ended with an error.

use pleach_context::NodeError;
use pleach_context::engine::WORKFLOW_CHANGED;
use pleach_session::SessionError;

use crate::RunError;

/// What a scheduler does with a run that has ended with an error: see [`RunError::retry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Another writer has changed the session. Read the session again and decide anew.
    Reload,
    /// The error says nothing about the request: this process is about to end, the session is in use, the storage does not respond, or
    /// this version of the program does not fit the session. Try again later, perhaps in another process.
    Later,
    /// The error is the result of the request.
    Never,
}

impl RunError {
    /// Returns what a scheduler does with a run that has ended with this error.
    ///
    /// [`Retry::Never`] includes [`RunError::Unfinished`], because a repeated message does not continue its invocation:
    /// [resume](crate::Runner::resume) it.
    ///
    /// ADK: none.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Session(error) => retry_of_storage(error),
            Self::Busy { .. } | Self::Draining | Self::Cut { .. } => Retry::Later,
            Self::Node { error, .. } => retry_of_node(error),
            Self::SessionNotFound(_)
            | Self::AmbiguousSession { .. }
            | Self::UnknownSession { .. }
            | Self::Message(_)
            | Self::UnknownQuestion { .. }
            | Self::AmbiguousQuestion { .. }
            | Self::AlreadyAnswered { .. }
            | Self::MayNotAnswer { .. }
            | Self::RefusedState(_)
            | Self::InvocationAborted { .. }
            | Self::OtherApp { .. }
            | Self::UnknownInvocation { .. }
            | Self::OperationsIgnored { .. }
            | Self::UnknownEvent { .. }
            | Self::UnknownRun { .. }
            | Self::BlankId(_)
            | Self::Answer { .. }
            | Self::Artifact(_)
            | Self::Plugin(_)
            | Self::Toolset(_)
            | Self::Waiting(_)
            | Self::Output(_)
            | Self::NoOutput
            | Self::NoReply { .. }
            | Self::DeadEnd(_)
            | Self::OtherMessage { .. }
            | Self::OtherState { .. }
            | Self::Unfinished { .. }
            | Self::NoReceiver { .. }
            | Self::Followed { .. }
            | Self::Close(_)
            | Self::Aborted
            | Self::ForkCut { .. } => Retry::Never,
        }
    }
}

fn retry_of_storage(error: &SessionError) -> Retry {
    match error {
        SessionError::Stale { .. } | SessionError::EventAlreadyExists { .. } => Retry::Reload,
        SessionError::Locked { .. } | SessionError::Unavailable { .. } | SessionError::Storage { .. } => Retry::Later,
        _ => Retry::Never,
    }
}

fn retry_of_node(error: &NodeError) -> Retry {
    if error.class() == WORKFLOW_CHANGED { Retry::Later } else { Retry::Never }
}
