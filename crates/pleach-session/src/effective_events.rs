//! The events of a session that are effective after rewinds.
// R1141

use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::{Event, EventId, InvocationId};
use serde_json::Value;

use crate::notes::REWIND_BEFORE_EVENT;

/// Returns the effective events, newest first. Events that a rewind undid and the rewinds themselves are left out.
///
/// A rewind undoes everything from the first event of the invocation that it names, or from the event that it names
/// ([`set_rewind_before_event`]). Earlier events stay effective, including earlier rewinds. So a rewind to a point
/// before an earlier rewind restores the events that the earlier rewind undid.
///
/// Replay, the matching of answers, the search for ids and the open questions all start from these events.
// R1141
pub fn newest_effective_events(events: &[Arc<Event>]) -> impl Iterator<Item = &Arc<Event>> {
    newest_with_rewinds(events).filter(|event| rewind_target(event).is_none())
}

/// Returns the effective events and the rewinds among them, newest first.
fn newest_with_rewinds(events: &[Arc<Event>]) -> impl Iterator<Item = &Arc<Event>> {
    let (mut firsts, mut places) = (None, None);
    let mut end = events.len();
    std::iter::from_fn(move || {
        end = end.checked_sub(1)?;
        let event = &events[end];
        if let Some(target) = rewind_target(event) {
            // A rewind to a missing or later event undoes nothing. An event may be missing because only a part of
            // the session was read.
            let named = rewind_before_event(event).and_then(|first| {
                places.get_or_insert_with(|| places_by_id(events)).get(&EventId::from(first)).copied()
            });
            let first = named
                .filter(|place| *place < end)
                .or_else(|| firsts.get_or_insert_with(|| first_places(events)).get(target).copied());
            end = first.map_or(end, |first| end.min(first));
        }
        Some(event)
    })
}

/// Returns the effective events in order; see [`newest_effective_events`].
#[must_use]
pub fn effective_events(events: &[Arc<Event>]) -> Vec<&Arc<Event>> {
    if !has_rewinds(events) {
        return events.iter().collect();
    }
    let mut live: Vec<_> = newest_effective_events(events).collect();
    live.reverse();
    live
}

/// Returns the effective events in order, including the rewinds among them that undid a part of an invocation: see
/// [`partly_rewound`].
#[must_use]
pub fn effective_events_and_rewinds(events: &[Arc<Event>]) -> Vec<&Arc<Event>> {
    effective_in(events, |_| true)
}

/// Returns the effective events of one invocation, in order, including the rewinds that undid a part of it.
#[must_use]
pub fn effective_events_of<'a>(events: &'a [Arc<Event>], invocation: &InvocationId) -> Vec<&'a Arc<Event>> {
    effective_in(events, |id| id == invocation.as_str())
}

fn effective_in(events: &[Arc<Event>], is_wanted: impl Fn(&str) -> bool) -> Vec<&Arc<Event>> {
    if !has_rewinds(events) {
        return events.iter().filter(|event| is_wanted(event.invocation_id().as_str())).collect();
    }
    let counts = |event: &&Arc<Event>| match rewind_target(event) {
        None => is_wanted(event.invocation_id().as_str()),
        Some(target) => rewind_before_event(event).is_some() && is_wanted(target),
    };
    let mut effective: Vec<_> = newest_with_rewinds(events).filter(counts).collect();
    effective.reverse();
    effective
}

/// Returns the invocation that a rewind undid in part, and the id of the first event that the rewind undid; `None` for
/// other events. Such a rewind records which runs of the invocation had completed without an event of their own.
#[must_use]
pub fn partly_rewound(event: &Event) -> Option<(&str, EventId)> {
    Some((rewind_target(event)?, EventId::from(rewind_before_event(event)?)))
}

/// Returns the position of the first event of each invocation.
fn first_places(events: &[Arc<Event>]) -> HashMap<&str, usize> {
    let mut firsts = HashMap::default();
    for (place, event) in events.iter().enumerate() {
        let id = event.invocation_id();
        if !id.is_empty() {
            firsts.entry(id.as_str()).or_insert(place);
        }
    }
    firsts
}

/// Returns the position of each event.
fn places_by_id(events: &[Arc<Event>]) -> HashMap<&EventId, usize> {
    events.iter().enumerate().map(|(place, event)| (event.id(), place)).collect()
}

/// Returns `true` if an event is a rewind. Without rewinds all events are effective, and few sessions have one.
fn has_rewinds(events: &[Arc<Event>]) -> bool {
    events.iter().any(|event| rewind_target(event).is_some())
}

fn rewind_target(event: &Event) -> Option<&str> {
    event.actions().rewind_before_invocation_id().filter(|target| !target.is_empty())
}

/// Makes a rewind keep the events of its invocation before the event `first`.
pub fn set_rewind_before_event(rewind: &mut Event, first: &EventId) {
    let mut notes = rewind.custom_metadata().cloned().unwrap_or_default();
    notes.insert(REWIND_BEFORE_EVENT.to_owned(), Value::from(first.to_string()));
    rewind.set_custom_metadata(Some(notes));
}

fn rewind_before_event(event: &Event) -> Option<&str> {
    event.custom_metadata()?.get(REWIND_BEFORE_EVENT)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word is an event, named after its invocation. `r<x` is a rewind in the invocation `r` to before the
    /// invocation `x`.
    fn check(log: &str, live: &str) {
        let event = |word: &str| {
            let (invocation, target) = word.split_once('<').map_or((word, None), |(id, target)| (id, Some(target)));
            let mut event = Event::message(word);
            event.set_invocation_id(invocation);
            event.actions_mut().set_rewind_before_invocation_id(target.map(str::to_owned));
            Arc::new(event)
        };
        let events: Vec<Arc<Event>> = log.split_whitespace().map(event).collect();
        let all = effective_events(&events);
        let found: Vec<String> = all.iter().map(|event| event.text()).collect();
        assert_eq!(found.join(" "), live, "{log}");
        for id in ["a", "b", "r"].map(InvocationId::from) {
            let own: Vec<_> = all.iter().copied().filter(|event| *event.invocation_id() == id).collect();
            assert_eq!(effective_events_of(&events, &id), own, "{log}");
        }
    }

    /// Each row was compared with `_apply_rewinds` of google-adk 2.13.0.
    #[test]
    fn r1141_rewound_events_are_not_effective() {
        for (log, live) in [
            ("", ""),
            ("a b c", "a b c"),
            ("a b c r<b", "a"),
            ("a b c r<b d", "a d"),
            ("a b a c r<a d", "d"),
            ("a b b c r<c d", "a b b d"),
            // A rewind of a rewind restores what the first one undid.
            ("a b c r<b s<r", "a b c"),
            ("a b c r<b d s<r", "a b c"),
            ("a b c r<b s<r t<s", "a"),
            // Two rewinds to the same place, then a rewind to an earlier place.
            ("a b r<b b s<b c", "a c"),
            ("a b c r<c d s<b e", "a e"),
            ("a b c r<b d s<a e", "e"),
            // An id that is used again after the rewind is effective from there.
            ("a b r<b b", "a b"),
            // A rewind to an unknown or later invocation, or to an empty id, undoes nothing.
            ("a r<z b", "a b"),
            ("a r<r b", "a b"),
            ("a r<b b", "a b"),
            ("a r< b", "a r< b"),
        ] {
            check(log, live);
        }
    }

    // R1141: a rewind to before an event keeps the earlier events of its invocation.
    #[test]
    fn r1141_a_rewind_before_an_event_keeps_the_events_before_it() {
        let event = |id: &str, invocation: &str, before: Option<(&str, &str)>| {
            let mut event = Event::message(id);
            event.set_id(id.to_owned());
            event.set_invocation_id(invocation);
            if let Some((target, first)) = before {
                event.actions_mut().set_rewind_before_invocation_id(Some(target.to_owned()));
                set_rewind_before_event(&mut event, &EventId::from(first.to_owned()));
            }
            Arc::new(event)
        };
        let ids =
            |events: Vec<&Arc<Event>>| events.iter().map(|event| event.id().to_string()).collect::<Vec<_>>().join(" ");
        let log = [
            event("1", "a", None),
            event("2", "a", None),
            event("3", "a", None),
            event("4", "r", Some(("a", "2"))),
            event("5", "a", None),
        ];
        assert_eq!(ids(effective_events(&log)), "1 5");
        assert_eq!(ids(effective_events_of(&log, &"a".into())), "1 4 5");
        assert_eq!(ids(effective_events(&log[..3])), "1 2 3");
        // Only the newest events of the session.
        assert_eq!(ids(effective_events(&log[2..])), "5");
    }
}
