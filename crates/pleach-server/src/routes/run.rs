//! The routes that run an agent and return all events at once or stream them.
// H50–H63

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::StatusCode;
use pleach_core::{Event, SessionKey};

use crate::api::Api;
use crate::body::{RunBody, declared_length};
use crate::caller::Caller;
use crate::error::{ApiError, json_response};
use crate::json::public_json;
use crate::path::caller;
use crate::runs::{Failure, Prepared, RunEvents, exists, no_session, prepare, start};
use crate::sse;

/// The size in bytes from which a body is read only after its session was looked up. Reading a smaller body costs less
/// than the lookup.
const LARGE: u64 = 256 << 10;

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
    let session = prepared.key.session_id.clone();
    let announces = prepared.announces;
    let mut events = start(&api, prepared);
    let first = if announces { begun(&mut events, session.as_str()).await? } else { None };
    let blocks = stream::unfold((first, events, api), move |(first, mut events, api)| async move {
        let event = match first {
            Some(first) => first,
            None => events.recv().await?,
        };
        let text = match event {
            Ok(event) => sse::event_blocks(&event, splits_artifacts).unwrap_or_default(),
            Err(failure) => sse::block(&failure.block(&*api.clock)),
        };
        Some((text, (None, events, api)))
    });
    Ok(sse::response(blocks))
}

/// Waits until the message of a run is stored, and drops the message's event. If another event or a failure comes first
/// and the stream can still begin, returns it.
///
/// # Errors
/// The reply if the session does not exist, the caller may not run it, or the storage fails.
// H51, H57
async fn begun(events: &mut RunEvents, session: &str) -> Result<Option<Result<Arc<Event>, Failure>>, ApiError> {
    match events.recv().await {
        Some(Err(failure)) if failure.is_before_the_stream() => Err(failure.answer(session)),
        Some(Ok(event)) if event.is_from_user() => Ok(None),
        other => Ok(other),
    }
}

async fn read(api: &Arc<Api>, request: Request, streams: bool) -> Result<Prepared, ApiError> {
    let (parts, body) = request.into_parts();
    let caller = caller(&parts).clone();
    let headers = parts.headers.clone();
    let is_large = declared_length(&headers).is_none_or(|length| length > LARGE);
    let payload = api.payload_with_messages(Request::from_parts(parts, body)).await?;
    if is_large && let Some(key) = payload.session(api.default_app.as_deref()) {
        check_session(api, &caller, &key).await?;
    }
    prepare(api, &caller, &headers, RunBody::of(payload)?, streams).await
}

/// Checks that the session of a request exists, before the message is read. If the request does not name an app of the
/// server, [`prepare`] refuses it.
///
/// # Errors
/// 403 for another user, 404 for a session that does not exist.
async fn check_session(api: &Api, caller: &Caller, key: &SessionKey) -> Result<(), ApiError> {
    if api.runner(key.app_name.as_str()).is_err() {
        return Ok(());
    }
    caller.check(&key.user_id)?;
    if api.auto_create_session || exists(api, key).await? {
        return Ok(());
    }
    Err(no_session(key.session_id.as_str()))
}
