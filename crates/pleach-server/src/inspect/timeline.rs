//! The events of a session: as a timeline, and one of them as it is stored.

use std::sync::Arc;

use axum::extract::{RawPathParams, State};
use axum::response::Response;
use http::Uri;
use pleach_core::EventId;
use pleach_inspect::{TimelineEntry, timeline};
use serde::Serialize;

use super::load::{limit, load};
use crate::api::Api;
use crate::error::ApiError;
use crate::json::reply;
use crate::path::SessionPath;
use crate::query;

/// How many events are shown unless the request says so, and at most.
const SHOWN: usize = 500;
const MOST: usize = 5000;

/// A piece of a timeline.
#[derive(Serialize)]
struct Page<'a> {
    entries: &'a [TimelineEntry],
    /// The place of the first event behind them, if there is one.
    next: Option<usize>,
    total: usize,
}

pub(super) async fn read(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    uri: Uri,
) -> Result<Response, ApiError> {
    let most = limit(&uri, SHOWN, MOST)?;
    let first = query::integer(&uri, "from")?.map_or(0, |first| usize::try_from(first).unwrap_or(0));
    let session = load(&api, &key).await?;
    let entries = timeline(&session.events);
    let total = entries.len();
    let begin = first.min(total);
    let end = begin.saturating_add(most).min(total);
    reply(&Page { entries: &entries[begin..end], next: (end < total).then_some(end), total })
}

pub(super) async fn event(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    path: RawPathParams,
) -> Result<Response, ApiError> {
    let wanted = path.iter().find(|(name, _)| *name == "event").map(|(_, id)| EventId::from(id)).unwrap_or_default();
    let session = load(&api, &key).await?;
    let found = session.events.iter().find(|event| *event.id() == wanted);
    reply(&**found.ok_or_else(|| ApiError::not_found("Event not found"))?)
}
