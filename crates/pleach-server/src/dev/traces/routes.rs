//! The routes of traces.
// H110, H111

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::spans::Asker;
use crate::api::Api;
use crate::error::ApiError;
use crate::json::plain;
use crate::path::TracePath;

/// Shows the span of the model call or tool call that produced an event.
pub(in crate::dev) async fn of_event(State(api): State<Arc<Api>>, path: TracePath) -> Result<Response, ApiError> {
    api.runner(&path.app)?;
    let found = api.traces.as_ref().and_then(|traces| traces.spans().of_event(&path.id, &asker(&path)));
    found.map(|span| plain(&span.attributes())).ok_or_else(|| ApiError::not_found("Trace not found"))
}

/// Shows the spans of all traces of a session.
pub(in crate::dev) async fn of_session(State(api): State<Arc<Api>>, path: TracePath) -> Result<Response, ApiError> {
    api.runner(&path.app)?;
    let spans = api.traces.as_ref().map(|traces| traces.spans().of_session(&path.id, &asker(&path)));
    // The spans may take many megabytes, so a blocking thread writes them, and runs do not have to wait.
    let shown = move || plain(&spans.unwrap_or_default().iter().map(|span| span.to_json()).collect());
    tokio::task::spawn_blocking(shown).await.map_err(|_| ApiError::Internal)
}

fn asker(path: &TracePath) -> Asker<'_> {
    Asker { app: &path.app, user: path.user.as_ref().map(|user| user.as_str()) }
}
