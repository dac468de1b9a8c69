//! [`timeline`]: the events of a session, each with its facts.

use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{Event, EventId, InvocationId, NodePath};
use pleach_session::effective_events;
use serde::Serialize;

use crate::Fact;

/// One event of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineEntry {
    /// The position of the event in its session, from 0.
    pub place: usize,
    /// The id of the event.
    pub id: EventId,
    /// The invocation of the event.
    pub invocation: InvocationId,
    /// When the event was stored, in seconds since the epoch.
    pub time: f64,
    /// The author of the event.
    pub author: String,
    /// The run that wrote the event; empty if no run did.
    pub path: NodePath,
    /// The branch of the conversation to which the event belongs.
    pub branch: Option<String>,
    /// Whether the event is effective. If false, a later rewind has undone it.
    pub effective: bool,
    /// The statements and actions of the event.
    pub facts: Vec<Fact>,
}

/// Reads the events of a session, in the order in which they were stored.
#[must_use]
pub fn timeline(events: &[Arc<Event>]) -> Vec<TimelineEntry> {
    let live = live(events);
    events.iter().enumerate().map(|(place, event)| entry(place, event, &live)).collect()
}

/// Reads the events of a session at these positions, which must be in ascending order.
#[must_use]
pub fn timeline_at(events: &[Arc<Event>], places: &[usize]) -> Vec<TimelineEntry> {
    let live = live(events);
    places.iter().filter_map(|place| Some(entry(*place, events.get(*place)?, &live))).collect()
}

impl TimelineEntry {
    /// Removes the secrets of credentials from the facts of the event.
    pub fn hide_secrets(&mut self) {
        self.facts.iter_mut().for_each(Fact::hide_secrets);
    }
}

fn entry(place: usize, event: &Arc<Event>, live: &HashSet<*const Event>) -> TimelineEntry {
    TimelineEntry {
        place,
        id: event.id().clone(),
        invocation: event.invocation_id().clone(),
        time: event.timestamp(),
        author: event.author().to_owned(),
        path: event.path().clone(),
        branch: event.branch().map(ToString::to_string),
        effective: live.contains(&Arc::as_ptr(event)),
        facts: Fact::of(event),
    }
}

/// Returns the addresses of the effective events.
pub(crate) fn live(events: &[Arc<Event>]) -> HashSet<*const Event> {
    effective_events(events).into_iter().map(Arc::as_ptr).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rewind_undid_is_marked() {
        let event = |invocation: &str, rewinds: Option<&str>| {
            let mut event = Event::from_author("user");
            event.set_invocation_id(invocation);
            event.actions_mut().set_rewind_before_invocation_id(rewinds.map(str::to_owned));
            Arc::new(event)
        };
        let events = [event("a", None), event("b", None), event("c", Some("b")), event("d", None)];
        let effective: Vec<bool> = timeline(&events).iter().map(|entry| entry.effective).collect();
        assert_eq!(effective, [true, false, false, true]);
        let rewind = &timeline(&events)[2].facts;
        assert_eq!(*rewind, [Fact::Rewinds { invocation: "b".into(), first: None }]);
    }
}
