//! [`Caller`]: the person who sends a request.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use pleach::Question;

use super::problem::Problem;

/// The person who sends a request. The proxy in front of the service signs people in: it sets the headers `x-user`, and
/// `x-roles` with roles separated by commas, and removes these headers from clients' requests.
pub(super) struct Caller {
    pub(super) user: String,
    roles: Vec<String>,
}

impl Caller {
    /// Returns true if a question is assigned to the caller or to one of the caller's roles.
    pub(super) fn is_asked(&self, question: &Question) -> bool {
        let asked = question.assignee.as_ref();
        asked.is_some_and(|asked| *asked == self.user || self.roles.contains(asked))
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let user = header("x-user").filter(|user| !user.is_empty());
        let user = user.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, "sign in first"))?.to_owned();
        let roles = header("x-roles").unwrap_or_default().split(',').map(|role| role.trim().to_owned()).collect();
        Ok(Self { user, roles })
    }
}
