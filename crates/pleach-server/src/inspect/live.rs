//! Streams what happens in a session. The blocks are `{"stored": EVENT}`, `{"partial": {"path", "author", "text"}}`,
//! `{"wait": {…}}`, and errors.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::{HeaderMap, Uri};
use pleach_core::{EventId, SessionHead, SessionKey};
use pleach_runner::{FollowOptions, RunEvent};
use pleach_session::{GetSessionConfig, MODEL_WAIT, Since};
use serde_json::json;

use super::mover::mover;
use crate::api::Api;
use crate::error::ApiError;
use crate::path::SessionPath;
use crate::routes::follow::{follow_as, last_seen};
use crate::sse::{self, block, block_with_id};

/// The pause between polls of the store, if no Runner follows the session.
const PAUSE: Duration = Duration::from_secs(1);

/// Follows a session from the event `after` on, or from now on if `after` is not set.
pub(super) async fn follow(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let after = last_seen(&headers, &uri);
    if let Some(runner) = mover(&api, key.app_name.as_str()) {
        let options = FollowOptions::new().after(after).across_pauses(true).checkpoints(true).echoes(true);
        return follow_as(&api, runner, key, options, shown).await;
    }
    let session =
        api.sessions.get_session(&key, GetSessionConfig::recent(1)).await?.ok_or_else(ApiError::no_session)?;
    let newest = session.events.last().map(|event| event.id().clone());
    // If the client has missed events, it is told only the newest one, and then requests the others itself.
    let missed = newest.filter(|newest| after.is_some() && after.as_ref() != Some(newest));
    let ending = api.ending.subscribe();
    let poll = Poll { api: Arc::clone(&api), key: key.clone(), head: session.head, missed, ending };
    sse::following(&api, &key, stream::unfold(Some(poll), |poll| async { poll?.next().await }))
}

fn shown(event: &RunEvent) -> String {
    if !event.is_partial() {
        return stored(event.id());
    }
    if let Some(wait) = event.custom_metadata().and_then(|notes| notes.get(MODEL_WAIT)) {
        let mut wait = wait.clone();
        wait["path"] = json!(event.path());
        wait["author"] = json!(event.author());
        return block(&json!({ "wait": wait }).to_string());
    }
    let partial = json!({ "path": event.path(), "author": event.author(), "text": event.text() });
    block(&json!({ "partial": partial }).to_string())
}

fn stored(id: &EventId) -> String {
    block_with_id(&id.to_string(), &json!({ "stored": id }).to_string())
}

/// Polls the store for new events of a session.
struct Poll {
    api: Arc<Api>,
    key: SessionKey,
    head: SessionHead,
    missed: Option<EventId>,
    ending: tokio::sync::watch::Receiver<bool>,
}

impl Poll {
    /// Returns the next block, and the state to continue with; `None` when the server shuts down.
    async fn next(mut self) -> Option<(String, Option<Self>)> {
        if let Some(missed) = self.missed.take() {
            return Some((stored(&missed), Some(self)));
        }
        let mut ending = self.ending.clone();
        let text = tokio::select! {
            biased;
            text = self.news() => text,
            _ = ending.wait_for(|ending| *ending) => return None,
        };
        match text {
            Ok(text) => Some((text, Some(self))),
            Err(text) => Some((text, None)),
        }
    }

    /// Waits until the session has new events, and returns the block for the newest one.
    ///
    /// # Errors
    /// The last block of the stream, if the session was deleted or the storage fails.
    async fn news(&mut self) -> Result<String, String> {
        loop {
            self.api.clock.sleep(PAUSE).await;
            let failed = |reason: &str| block(&json!({ "error": reason }).to_string());
            match self.api.sessions.events_since(&self.head).await {
                Ok(Some(Since::Events(session))) => {
                    let newest = session.events.last().map(|event| event.id().clone());
                    self.head = session.head;
                    if let Some(newest) = newest {
                        return Ok(stored(&newest));
                    }
                }
                Ok(Some(Since::Unknown)) => {
                    let loaded = self.api.sessions.get_session(&self.key, GetSessionConfig::recent(1)).await;
                    let Ok(Some(session)) = loaded else { return Err(failed("The session can no longer be read.")) };
                    let newest = session.events.last().map(|event| event.id().clone()).unwrap_or_default();
                    self.head = session.head;
                    return Ok(stored(&newest));
                }
                Ok(None) => return Err(failed("The session was deleted.")),
                Err(error) => {
                    tracing::error!(code = error.code(), "a session cannot be followed");
                    return Err(failed("The session storage is not available."));
                }
            }
        }
    }
}
