//! The log of a session as a stream, and what its run adds: for clients that come back. google-adk has no such route.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::{HeaderMap, Uri};
use pleach_core::EventId;
use pleach_runner::{Follow, FollowOptions, RunError, RunEvent};

use crate::api::Api;
use crate::error::ApiError;
use crate::json::public_json;
use crate::path::SessionPath;
use crate::query;
use crate::runs::Failure;
use crate::sse::{self, block, block_with_id};

/// The header by which browsers name the last block that they have.
const LAST_EVENT_ID: &str = "last-event-id";

pub(super) async fn follow(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let runner = api.runner(key.app_name.as_str())?;
    let last = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let after = last.or_else(|| query::text(&uri, "after")).filter(|id| !id.is_empty()).map(EventId::from);
    let options = FollowOptions::new().after(after).across_pauses(query::flag(&uri, "wait")?);
    let followed = runner.follow_with(&key, options).await.map_err(|error| refused(error, key.session_id.as_str()))?;
    let source = Source { followed, ending: api.ending.subscribe(), api: Arc::clone(&api) };
    Ok(sse::response(stream::unfold(source, Source::next)))
}

fn refused(error: RunError, session: &str) -> ApiError {
    match error {
        RunError::UnknownEvent { event, .. } => {
            ApiError::not_found(format!("Event not found: {event}. Follow from an event of the session."))
        }
        error => Failure::Run(error).answer(session),
    }
}

/// A followed session, and the end of the server.
struct Source {
    followed: Follow,
    ending: tokio::sync::watch::Receiver<bool>,
    api: Arc<Api>,
}

impl Source {
    /// Returns the next block.
    async fn next(mut self) -> Option<(String, Self)> {
        let next = tokio::select! {
            biased;
            next = self.followed.next() => next?,
            _ = self.ending.wait_for(|ending| *ending) => return None,
        };
        let text = match next {
            Ok(event) => event_block(&event),
            Err(error) => block(&Failure::Run(error).block(&*self.api.clock)),
        };
        Some((text, self))
    }
}

/// Returns the block of an event. Fragments are not stored, so their ids are no positions.
fn event_block(event: &RunEvent) -> String {
    let Ok(json) = public_json(&**event) else { return String::new() };
    if event.is_partial() { block(&json) } else { block_with_id(&event.id().to_string(), &json) }
}
