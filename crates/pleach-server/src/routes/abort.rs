//! Ends the last invocation of a session: for clients that stop a run which would continue without them. google-adk has no such route.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::api::Api;
use crate::error::ApiError;
use crate::json::reply;
use crate::path::SessionPath;
use crate::runs::Failure;

/// Ends it. The answer is false where there was nothing to end.
pub(super) async fn abort(State(api): State<Arc<Api>>, SessionPath(key): SessionPath) -> Result<Response, ApiError> {
    let runner = api.runner(key.app_name.as_str())?;
    let aborted = tokio::select! {
        biased;
        aborted = runner.abort(&key) => aborted.map_err(|error| Failure::Run(error).answer(key.session_id.as_str()))?,
        // A client that reads nothing holds its run up.
        () = api.clock.sleep(api.limits.request_time) => {
            return Err(ApiError::unavailable("The run has been told to end, and has not ended in the time of a request."));
        }
    };
    reply(&json!({ "aborted": aborted }))
}
