//! Runs: all events at once, or as they come.
// H50–H63

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::StatusCode;

use crate::api::Api;
use crate::body::RunBody;
use crate::error::{ApiError, json_response};
use crate::json::public_json;
use crate::path::caller;
use crate::runs::{Prepared, prepare, start};
use crate::sse;

// H50
pub(super) async fn run(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ApiError> {
    let prepared = read(&api, request, false).await?;
    let session = prepared.key.session_id.clone();
    let mut events = start(&api, prepared);
    let mut texts = Vec::new();
    while let Some(event) = events.recv().await {
        let event = event.map_err(|failure| failure.answer(session.as_str()))?;
        texts.push(public_json(&*event)?);
    }
    Ok(json_response(StatusCode::OK, format!("[{}]", texts.join(","))))
}

// H53
pub(super) async fn run_sse(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ApiError> {
    let prepared = read(&api, request, true).await?;
    let splits_artifacts = prepared.splits_artifacts;
    let events = start(&api, prepared);
    let blocks = stream::unfold((events, api), move |(mut events, api)| async move {
        let event = events.recv().await?;
        let text = match event {
            Ok(event) => sse::event_blocks(&event, splits_artifacts).unwrap_or_default(),
            Err(failure) => sse::block(&failure.block(&*api.clock)),
        };
        Some((text, (events, api)))
    });
    Ok(sse::response(blocks))
}

async fn read(api: &Arc<Api>, request: Request, streams: bool) -> Result<Prepared, ApiError> {
    let (parts, body) = request.into_parts();
    let caller = caller(&parts).clone();
    let headers = parts.headers.clone();
    let payload = api.payload(Request::from_parts(parts, body)).await?;
    prepare(api, &caller, &headers, RunBody::of(payload)?, streams).await
}
