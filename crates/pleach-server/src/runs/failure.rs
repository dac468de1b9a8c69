//! [`Failure`]: why a run has no result, in the form that clients receive.

use http::StatusCode;
use pleach_core::{Clock, InvocationId};
use pleach_runner::RunError;
use pleach_session::SessionError;
use serde_json::json;

use crate::error::ApiError;

/// Why a run has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The run's own error.
    Run(RunError),
    /// The run took longer than a request may.
    Late,
    /// The message names an invocation that has ended, so it was not stored.
    Over(InvocationId),
}

impl Failure {
    fn code(&self) -> &str {
        match self {
            Self::Run(error) => error.code(),
            Self::Late => "TimeoutError",
            Self::Over(_) => "InvocationEndedError",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Run(error) => error.message(),
            Self::Late => "The run took longer than the server allows, and was aborted.".to_owned(),
            Self::Over(id) => format!(
                "Invocation {id} takes no message, and this one was not stored: send it without an invocationId."
            ),
        }
    }

    /// Returns true if a run without events failed because its session could not be used or the caller lacks a right.
    /// Such a failure gets a status instead of a stream.
    // H51
    pub(crate) fn is_before_the_stream(&self) -> bool {
        match self {
            Self::Run(RunError::Session(error)) => !error.is_stale(),
            Self::Run(error) => {
                matches!(
                    error,
                    RunError::SessionNotFound(_)
                        | RunError::UnknownSession { .. }
                        | RunError::BlankId(_)
                        | RunError::MayNotAnswer { .. }
                        | RunError::RefusedState(_)
                )
            }
            Self::Late | Self::Over(_) => false,
        }
    }

    /// Returns the last block of a stream.
    // H56
    pub(crate) fn block(&self, clock: &dyn Clock) -> String {
        let (code, message) = (self.code(), self.message());
        let details = json!({ "error_type": code, "error_message": message, "timestamp": clock.now() });
        json!({ "error": format!("{code}: {message}"), "error_details": details }).to_string()
    }

    /// Returns the reply to a request without a stream. It has a reason only if the client can do something about the
    /// error: other texts may contain data of tools and models.
    // H51, H52
    pub(crate) fn answer(self, session: &str) -> ApiError {
        let error = match self {
            Self::Run(error) => error,
            Self::Late => return ApiError::new(StatusCode::GATEWAY_TIMEOUT, self.message()),
            Self::Over(_) => return ApiError::conflict(self.message()),
        };
        match error {
            RunError::SessionNotFound(_) | RunError::UnknownSession { .. } | RunError::BlankId(_) => {
                no_session(session)
            }
            RunError::Busy { .. }
            | RunError::OtherMessage { .. }
            | RunError::OtherState { .. }
            | RunError::Unfinished { .. }
            | RunError::AlreadyAnswered { .. }
            | RunError::InvocationAborted { .. }
            | RunError::Session(SessionError::Stale { .. }) => ApiError::conflict(error.to_string()),
            RunError::Message(_)
            | RunError::Answer { .. }
            | RunError::UnknownQuestion { .. }
            | RunError::AmbiguousQuestion { .. }
            | RunError::UnknownInvocation { .. } => ApiError::bad_request(error.to_string()),
            RunError::MayNotAnswer { .. } | RunError::RefusedState(_) => ApiError::forbidden(error.to_string()),
            RunError::Session(error) => error.into(),
            RunError::Draining | RunError::Cut { .. } => ending(),
            _ => {
                tracing::error!(code = error.code(), "a run failed");
                ApiError::Internal
            }
        }
    }
}

/// Returns the reply for a session that does not exist.
// H51
pub(crate) fn no_session(session: &str) -> ApiError {
    ApiError::not_found(format!("Session not found: {session}"))
}

/// Returns the reply while the server is shutting down.
pub(crate) fn ending() -> ApiError {
    ApiError::unavailable("The server is shutting down and accepts no new runs: send the request again.")
}
