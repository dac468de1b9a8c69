//! [`Problem`]: an error as a status and a body, `{"error": TEXT, "field": PATH}`.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pleach::SessionError;
use pleach::prelude::*;
use serde_json::json;

/// An error in the form that clients receive.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    text: String,
    /// The dotted path of the faulty field in the body of the request.
    field: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), field: None }
    }

    pub(crate) fn of_field(field: &str, text: impl Into<String>) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, text) }
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        let status = match &error {
            RunError::SessionNotFound(_)
            | RunError::UnknownSession { .. }
            | RunError::UnknownQuestion { .. }
            | RunError::UnknownInvocation { .. } => StatusCode::NOT_FOUND,
            RunError::MayNotAnswer { .. } | RunError::RefusedState(_) => StatusCode::FORBIDDEN,
            RunError::Answer { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            RunError::Message(_)
            | RunError::BlankId(_)
            | RunError::UnknownEvent { .. }
            | RunError::UnknownRun { .. }
            | RunError::AmbiguousSession { .. }
            | RunError::AmbiguousQuestion { .. } => StatusCode::BAD_REQUEST,
            // `Stale` means that another process has answered at the same moment.
            RunError::AlreadyAnswered { .. }
            | RunError::OtherMessage { .. }
            | RunError::OtherState { .. }
            | RunError::InvocationAborted { .. }
            | RunError::NoReceiver { .. }
            | RunError::Busy { .. }
            | RunError::Unfinished { .. }
            | RunError::Session(SessionError::Stale { .. }) => StatusCode::CONFLICT,
            RunError::Draining
            | RunError::Cut { .. }
            | RunError::Session(SessionError::Unavailable { .. } | SessionError::Locked { .. }) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        match error {
            RunError::Answer { field, reason, .. } => Self { field, ..Self::new(status, reason) },
            // The text may contain texts of the bank, so it is only logged.
            error if status == StatusCode::INTERNAL_SERVER_ERROR => {
                tracing::error!(%error, "a request failed");
                Self::new(status, "internal error")
            }
            error => Self::new(status, error.to_string()),
        }
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        RunError::from(error).into()
    }
}

impl From<NodeError> for Problem {
    fn from(error: NodeError) -> Self {
        tracing::error!(%error, "a stored value cannot be read");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
    }
}

impl From<JsonRejection> for Problem {
    fn from(error: JsonRejection) -> Self {
        Self::new(error.status(), error.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(error: QueryRejection) -> Self {
        Self::new(error.status(), error.body_text())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = match self.field {
            Some(field) => json!({"error": self.text, "field": field}),
            None => json!({"error": self.text}),
        };
        (self.status, Json(body)).into_response()
    }
}
