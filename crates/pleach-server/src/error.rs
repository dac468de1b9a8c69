//! [`ApiError`]: the reply to a request that fails.
// H5

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use pleach_artifact::ArtifactError;
use pleach_core::RefusedKey;
use pleach_memory::MemoryError;
use pleach_session::SessionError;
use serde_json::json;

use crate::body::Problem;

/// The reply to a request that fails.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// A status and its reason.
    Detail(StatusCode, String),
    /// All problems of the request.
    Invalid(Vec<Problem>),
    /// A failure whose reason is not sent to the client.
    Internal,
    /// An app whose name is reserved for the framework.
    InternalApp(String),
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::Detail(status, detail.into())
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "The caller is unknown: sign in first.")
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// Returns the reply to a path without a route.
    pub(crate) fn no_route() -> Self {
        Self::not_found("Not Found")
    }

    pub(crate) fn no_session() -> Self {
        Self::not_found("Session not found")
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }
}

/// Marks the reply to a request for an app with a reserved name. A server that serves only this machine replaces the
/// reply with one that shows the name.
// H27
#[derive(Clone)]
#[cfg_attr(not(feature = "dev"), expect(dead_code, reason = "only a development server reads the name"))]
pub(crate) struct InternalApp(pub(crate) String);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        match self {
            Self::Detail(status, detail) => json_response(status, json!({ "detail": detail }).to_string()),
            Self::Invalid(problems) => {
                let problems: Vec<_> = problems.iter().map(Problem::to_json).collect();
                json_response(StatusCode::UNPROCESSABLE_ENTITY, json!({ "detail": problems }).to_string())
            }
            Self::InternalApp(name) => {
                let refused = "Apps whose names start with `__` are internal, and are not served here.";
                let mut response = Self::forbidden(refused).into_response();
                response.extensions_mut().insert(InternalApp(name));
                response
            }
            Self::Internal => {
                text_response(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", "text/plain; charset=utf-8")
            }
        }
    }
}

/// Returns a response with a JSON text. It must not be cached: it is valid only now and for its caller.
pub(crate) fn json_response(status: StatusCode, text: String) -> Response {
    let mut response = text_response(status, text, "application/json");
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns a response with a text of the given type.
pub(crate) fn text_response(status: StatusCode, text: impl Into<Body>, content_type: &'static str) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The reply is 403.
impl From<RefusedKey> for ApiError {
    fn from(refused: RefusedKey) -> Self {
        Self::forbidden(format!("{refused}."))
    }
}

/// Faults of the storage are logged. The client gets a reason only for errors that it can do something about.
impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        match &error {
            SessionError::NotFound(_) => Self::no_session(),
            SessionError::AlreadyExists(key) => Self::conflict(format!("Session already exists: {}", key.session_id)),
            SessionError::Stale { .. } => {
                Self::conflict("Another request has changed the session: send this one again.")
            }
            SessionError::EventAlreadyExists { .. }
            | SessionError::Unstorable { .. }
            | SessionError::StateOperation { .. } => Self::bad_request(error.to_string()),
            SessionError::Locked { .. } | SessionError::Unavailable { .. } => {
                logged("sessions", error.code());
                Self::unavailable("The session storage is not available: try again.")
            }
            _ => {
                logged("sessions", error.code());
                Self::Internal
            }
        }
    }
}

impl From<ArtifactError> for ApiError {
    fn from(error: ArtifactError) -> Self {
        match &error {
            // H75
            ArtifactError::UnsupportedPart { .. } => Self::bad_request("Not supported artifact type."),
            ArtifactError::MissingSession { .. }
            | ArtifactError::InvalidId { .. }
            | ArtifactError::InvalidFilename { .. }
            | ArtifactError::InvalidReference { .. } => Self::bad_request(error.to_string()),
            _ => {
                logged("artifacts", error.code());
                Self::Internal
            }
        }
    }
}

impl From<MemoryError> for ApiError {
    fn from(_: MemoryError) -> Self {
        logged("memory", "MemoryError");
        Self::Internal
    }
}

/// Logs the code of the failure, but not its text, which may contain data of users and tools.
fn logged(storage: &'static str, code: &'static str) {
    tracing::error!(storage, code, "a request failed in the storage");
}
