//! The route that aborts the last invocation of a session. A client needs it to stop a run that continues after the
//! client has disconnected. google-adk has no such route.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::api::Api;
use crate::error::ApiError;
use crate::json::reply;
use crate::path::SessionPath;
use crate::runs::Failure;

/// Aborts the last invocation. The reply is false if there was nothing to abort.
pub(super) async fn abort(State(api): State<Arc<Api>>, SessionPath(key): SessionPath) -> Result<Response, ApiError> {
    let runner = api.runner(key.app_name.as_str())?;
    let aborted = tokio::select! {
        biased;
        aborted = runner.abort(&key) => aborted.map_err(|error| Failure::Run(error).answer(key.session_id.as_str()))?,
        // The end of the run may be delayed by a client that does not read its stream.
        () = api.clock.sleep(api.limits.request_time) => {
            return Err(ApiError::unavailable("The run has been told to end, but has not ended within the time of a request."));
        }
    };
    reply(&json!({ "aborted": aborted }))
}
