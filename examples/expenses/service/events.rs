//! Streams the events of an expense as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{self, KeepAlive};
use futures_util::Stream;
use pleach::prelude::*;
use pleach::{EventId, Follow, FollowOptions, Question, RunProgress};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Service;
use super::expense::OUTCOME;
use super::problem::Problem;

/// How long a stream may be silent before it checks the status of the expense. The check reads the session, so it must
/// be rare.
const QUIET: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub(super) struct From {
    /// The id of the last event that the client has, for clients that cannot set `Last-Event-ID`.
    after: Option<String>,
}

/// The part of an event that a client sees.
#[derive(Serialize)]
struct Shown {
    /// The node, such as `approve`.
    node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<Question>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Value>,
}

/// Streams stored and new events, across questions and their answers, until the expense is done.
pub(super) async fn events(
    State(service): State<Service>,
    Path((employee, id)): Path<(String, String)>,
    from: Result<Query<From>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Problem> {
    let Query(from) = from?;
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok().map(str::to_owned));
    let after = last.or(from.after).map(EventId::from);
    let session = SessionKey::new(service.runner.app_name(), employee, id);
    // The state is read before the stream begins. Events that are stored later arrive in the stream.
    let stored = service.stored(&session).await?.ok_or_else(|| RunError::SessionNotFound(session.clone()))?;
    let is_done = OUTCOME.of(&stored)?.is_some();
    let options = FollowOptions::new().after(after.clone()).across_pauses(!is_done);
    let events = service.runner.follow_with(&session, options).await?;
    Ok(Sse::new(stream(service, session, after, events)).keep_alive(KeepAlive::default()))
}

fn stream(
    service: Service,
    session: SessionKey,
    mut last: Option<EventId>,
    mut events: Follow,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    async_stream::stream! {
        loop {
            let next = tokio::time::timeout(QUIET, events.next());
            let event = match service.stopping.run_until_cancelled(next).await {
                Some(Ok(Some(Ok(event)))) => event,
                Some(Ok(Some(Err(error)))) => {
                    tracing::warn!(%error, "a stream of events ends");
                    break;
                }
                None | Some(Ok(None)) => break,
                Some(Err(_)) => {
                    // The run may have failed, or been aborted, in another process. In that case send the remaining
                    // stored events, and end.
                    if has_ended(&service, &session).await
                        && let Ok(rest) = service.runner.follow(&session, last.clone()).await
                    {
                        events = rest;
                    }
                    continue;
                }
            };
            if !event.is_partial() {
                last = Some(event.id().clone());
            }
            let Some(shown) = Shown::of(&event) else { continue };
            let is_last = shown.outcome.is_some();
            if let Ok(block) = sse::Event::default().id(event.id().to_string()).json_data(shown) {
                yield Ok(block);
            }
            if is_last {
                break;
            }
        }
    }
}

/// Returns true if an expense makes no progress unless an operator acts.
async fn has_ended(service: &Service, session: &SessionKey) -> bool {
    let status = service.runner.status(session).await;
    status.is_ok_and(|status| {
        matches!(status.progress, RunProgress::Done | RunProgress::Aborted | RunProgress::Failed { .. })
    })
}

impl Shown {
    /// Returns the part of an event that a client sees, if there is one.
    fn of(event: &RunEvent) -> Option<Self> {
        if event.is_partial() || event.is_from_user() {
            return None;
        }
        let question = event.request.as_deref().cloned();
        // Only the class of the error is sent, because its text may contain texts of the bank.
        let error = event.error_code().map(str::to_owned);
        let outcome = event.actions().state_delta().get(OUTCOME.name()).cloned();
        let has_news = question.is_some() || error.is_some() || outcome.is_some() || event.output().is_some();
        has_news.then(|| Self { node: event.path().name().to_owned(), question, error, outcome })
    }
}
