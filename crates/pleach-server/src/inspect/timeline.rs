//! The events of a session as a timeline, and a single event as it is stored.

use std::sync::Arc;

use axum::extract::{RawPathParams, State};
use axum::response::Response;
use http::Uri;
use pleach_core::{Event, EventId, InvocationId, Session};
use pleach_inspect::{TimelineEntry, timeline_at};
use serde::Serialize;

use super::load::{self, limit};
use crate::api::Api;
use crate::error::ApiError;
use crate::json::reply;
use crate::path::SessionPath;
use crate::query;

/// The number of events that are shown by default. The maximum is [`MOST`].
const SHOWN: usize = 500;
const MOST: usize = 5000;

/// A page of a timeline.
#[derive(Serialize)]
struct Page {
    entries: Vec<TimelineEntry>,
    /// The position of the first event after this page, if there is one. Pass it as `from` to get the next page.
    next: Option<usize>,
    /// The position of the first event of this page, if there are events before it. Pass it as `before` to get the
    /// previous page.
    previous: Option<usize>,
    /// The number of events on all pages.
    total: usize,
}

/// The events that a request wants.
struct Wanted {
    invocation: Option<InvocationId>,
    from: usize,
    /// If set, the request wants the last events before this position, and not the first events from `from` on.
    before: Option<usize>,
    most: usize,
}

impl Wanted {
    /// # Errors
    /// 422 for a word that is not an integer.
    fn of(uri: &Uri) -> Result<Self, ApiError> {
        let place = |name| -> Result<Option<usize>, ApiError> {
            Ok(query::integer(uri, name)?.map(|place| usize::try_from(place).unwrap_or(0)))
        };
        Ok(Self {
            invocation: query::text(uri, "invocation").filter(|id| !id.is_empty()).map(InvocationId::from),
            from: place("from")?.unwrap_or(0),
            before: place("before")?,
            most: limit(uri, SHOWN, MOST)?,
        })
    }

    fn page(&self, session: &Session) -> Page {
        let is_wanted = |event: &Event| self.invocation.as_ref().is_none_or(|wanted| event.invocation_id() == wanted);
        let events = session.events.iter().enumerate();
        let places: Vec<usize> = events.filter(|(_, event)| is_wanted(event)).map(|(place, _)| place).collect();
        let (begin, end) = match self.before {
            Some(before) => {
                let end = places.partition_point(|place| *place < before);
                (end.saturating_sub(self.most), end)
            }
            None => {
                let begin = places.partition_point(|place| *place < self.from);
                (begin, begin.saturating_add(self.most).min(places.len()))
            }
        };
        let mut entries = timeline_at(&session.events, &places[begin..end]);
        entries.iter_mut().for_each(TimelineEntry::hide_secrets);
        let previous = places.get(begin).copied().filter(|_| begin > 0);
        Page { entries, next: places.get(end).copied(), previous, total: places.len() }
    }
}

pub(super) async fn read(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    uri: Uri,
) -> Result<Response, ApiError> {
    let wanted = Wanted::of(&uri)?;
    load::read(&api, &key, move |_, session| reply(&wanted.page(session))).await
}

pub(super) async fn event(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    path: RawPathParams,
) -> Result<Response, ApiError> {
    let wanted = path.iter().find(|(name, _)| *name == "event").map(|(_, id)| EventId::from(id)).unwrap_or_default();
    let read = move |_: &Api, session: &Session| {
        let found = session.events.iter().find(|event| *event.id() == wanted);
        reply(&**found.ok_or_else(|| ApiError::not_found("Event not found"))?)
    };
    load::read(&api, &key, read).await
}
