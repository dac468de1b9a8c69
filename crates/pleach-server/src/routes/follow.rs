//! The route that streams the log of a session and then the events of its run, for clients that reconnect. google-adk
//! has no such route.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::{HeaderMap, Uri};
use pleach_core::{EventId, InvocationId, SessionKey};
use pleach_runner::{Follow, FollowOptions, RunError, RunEvent, Runner};

use crate::api::Api;
use crate::error::ApiError;
use crate::json::public_json;
use crate::path::SessionPath;
use crate::query;
use crate::runs::Failure;
use crate::sse::{self, block, block_with_id};

/// The header in which browsers send the id of the last block that they have received.
const LAST_EVENT_ID: &str = "last-event-id";

pub(super) async fn follow(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let runner = api.runner(key.app_name.as_str())?;
    let after = last_seen(&headers, &uri);
    let waits = query::flag(&uri, "wait")?;
    follow_as(&api, runner, key, FollowOptions::new().after(after).across_pauses(waits), event_block).await
}

/// Returns the last event that a client has received. Its id is in the header that a browser sends when it reconnects,
/// or in the query.
pub(crate) fn last_seen(headers: &HeaderMap, uri: &Uri) -> Option<EventId> {
    let named = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    named.or_else(|| query::text(uri, "after")).filter(|id| !id.is_empty()).map(EventId::from)
}

/// Follows a session. The function `show` makes the block of an event.
pub(crate) async fn follow_as(
    api: &Arc<Api>,
    runner: &Runner,
    key: SessionKey,
    options: FollowOptions,
    show: fn(&RunEvent) -> String,
) -> Result<Response, ApiError> {
    let opened = runner.follow_with(&key, options.clone()).await;
    let followed = opened.map_err(|error| refused(error, key.session_id.as_str()))?;
    let ending = api.ending.subscribe();
    let runner = runner.clone();
    let last = options.after.clone();
    let waits = options.across_pauses;
    let followed_key = key.clone();
    let source =
        Source { followed, runner, key, last, failed: None, options, waits, show, ending, api: Arc::clone(api) };
    sse::following(api, &followed_key, stream::unfold(source, Source::next))
}

fn refused(error: RunError, session: &str) -> ApiError {
    match error {
        RunError::UnknownEvent { event, .. } => {
            ApiError::not_found(format!("Event not found: {event}. Follow from an event of the session."))
        }
        error => Failure::Run(error).answer(session),
    }
}

/// A followed session, with a signal for the shutdown of the server.
struct Source {
    followed: Follow,
    runner: Runner,
    key: SessionKey,
    /// The last stored event that the client has received.
    last: Option<EventId>,
    /// The last invocation whose error the client has received.
    failed: Option<InvocationId>,
    options: FollowOptions,
    /// Whether the stream continues after the end of a run.
    waits: bool,
    show: fn(&RunEvent) -> String,
    ending: tokio::sync::watch::Receiver<bool>,
    api: Arc<Api>,
}

impl Source {
    /// Returns the next block.
    async fn next(mut self) -> Option<(String, Self)> {
        let mut ending = self.ending.clone();
        let text = tokio::select! {
            biased;
            text = self.text() => text?,
            _ = ending.wait_for(|ending| *ending) => return None,
        };
        Some((text, self))
    }

    async fn text(&mut self) -> Option<String> {
        loop {
            match self.followed.next().await {
                Some(Ok(event)) => {
                    if !event.is_partial() {
                        self.last = Some(event.id().clone());
                    }
                    return Some((self.show)(&event));
                }
                Some(Err(error)) => {
                    let invocation = self.followed.invocation_id();
                    let is_new = invocation.is_none() || invocation != self.failed;
                    // If a run fails, the stream may continue with the next run. A failure of the storage would occur
                    // again, so the stream ends.
                    self.waits &= matches!(error, RunError::Followed { .. });
                    self.failed = invocation;
                    if is_new {
                        return Some(block(&Failure::Run(error).block(&*self.api.clock)));
                    }
                }
                None if self.waits => {
                    if let Err(error) = self.again().await {
                        self.waits = false;
                        return Some(block(&Failure::Run(error).block(&*self.api.clock)));
                    }
                }
                None => return None,
            }
        }
    }

    /// Waits, and then follows the session again, after the last event. The pause is needed because the run that has
    /// ended may still be listed as active.
    async fn again(&mut self) -> Result<(), RunError> {
        let options = self.options.clone().after(self.last.clone());
        self.api.clock.sleep(options.poll_interval).await;
        self.followed = self.runner.follow_with(&self.key, options).await?;
        Ok(())
    }
}

/// Returns the block of an event. Fragments are not stored, so their ids are not positions in the log.
fn event_block(event: &RunEvent) -> String {
    let Ok(json) = public_json(&**event) else { return String::new() };
    if event.is_partial() { block(&json) } else { block_with_id(&event.id().to_string(), &json) }
}
