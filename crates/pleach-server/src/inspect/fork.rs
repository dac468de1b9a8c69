//! The route that forks a session: it copies the session as it was right after one of its events.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use pleach_core::SessionId;
use pleach_runner::RunError;
use serde_json::json;

use super::mover::require_mover;
use crate::api::Api;
use crate::body::ForkBody;
use crate::error::ApiError;
use crate::json::plain;
use crate::path::SessionPath;
use crate::runs::Failure;

/// Makes a fork, and returns its key.
///
/// # Errors
/// 403 without a Runner, 404 for an unknown session or event, 409 for an id that is taken.
pub(super) async fn make(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    request: Request,
) -> Result<Response, ApiError> {
    let runner = require_mover(&api, key.app_name.as_str())?;
    let body = ForkBody::of(api.payload(request).await?)?;
    let session = key.session_id.to_string();
    let new = body.session_id.filter(|id| !id.trim().is_empty()).map(SessionId::from);
    let forked = runner.fork(key.user_id, key.session_id, body.event_id.as_str(), new).await;
    let forked = forked.map_err(|error| match error {
        RunError::UnknownEvent { event, .. } => ApiError::not_found(format!("Event not found: {event}")),
        error => Failure::Run(error).answer(&session),
    })?;
    let key = forked.key();
    Ok(plain(&json!({ "appName": key.app_name, "userId": key.user_id, "id": key.session_id })))
}
