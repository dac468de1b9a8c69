//! Which events of a session count after rewinds (R1141).

use std::sync::Arc;

use pleach_core::Event;
use rustc_hash::FxHashMap;

/// The events that count: without those that a rewind has taken back, and without the rewinds themselves (R1141).
///
/// Read backwards: a rewind takes back everything from the first event of the invocation that it names; what lies before
/// goes on counting, a rewind among it included. So a rewind to before an earlier rewind brings back what that one took.
///
/// Replay, the matching of answers, the search for ids and open questions all start from this list.
#[must_use]
pub fn live_events(events: &[Arc<Event>]) -> Vec<&Arc<Event>> {
    if !events.iter().any(|event| rewind_target(event).is_some()) {
        return events.iter().collect();
    }
    let mut firsts: FxHashMap<&str, usize> = FxHashMap::default();
    for (place, event) in events.iter().enumerate() {
        let id = event.invocation_id();
        if !id.is_empty() {
            firsts.entry(id.as_str()).or_insert(place);
        }
    }
    let mut live = Vec::with_capacity(events.len());
    let mut end = events.len();
    while let Some(place) = end.checked_sub(1) {
        end = place;
        match rewind_target(&events[place]) {
            // A rewind to what is not there, or lies behind it, takes nothing back.
            Some(target) => end = firsts.get(target).map_or(place, |first| place.min(*first)),
            None => live.push(&events[place]),
        }
    }
    live.reverse();
    live
}

fn rewind_target(event: &Event) -> Option<&str> {
    event.actions().rewind_before_invocation_id().filter(|target| !target.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events by their invocations; `<x` is a rewind to before `x` in the invocation that the text before it names.
    fn check(log: &str, live: &str) {
        let event = |word: &str| {
            let (invocation, target) = word.split_once('<').map_or((word, None), |(id, target)| (id, Some(target)));
            let mut event = Event::message(word);
            event.set_invocation_id(invocation);
            event.actions_mut().set_rewind_before_invocation_id(target.map(str::to_owned));
            Arc::new(event)
        };
        let events: Vec<Arc<Event>> = log.split_whitespace().map(event).collect();
        let found: Vec<String> = live_events(&events).into_iter().map(|event| event.text()).collect();
        assert_eq!(found.join(" "), live, "{log}");
    }

    /// Each row was compared with `_apply_rewinds` of google-adk 2.13.0.
    #[test]
    fn r1141_rewound_spans_do_not_count() {
        for (log, live) in [
            ("", ""),
            ("a b c", "a b c"),
            ("a b c r<b", "a"),
            ("a b c r<b d", "a d"),
            ("a b a c r<a d", "d"),
            ("a b b c r<c d", "a b b d"),
            // A rewind of a rewind brings back what it took.
            ("a b c r<b s<r", "a b c"),
            ("a b c r<b d s<r", "a b c"),
            ("a b c r<b s<r t<s", "a"),
            // Twice to the same place, and to an earlier place in between.
            ("a b r<b b s<b c", "a c"),
            ("a b c r<c d s<b e", "a e"),
            ("a b c r<b d s<a e", "e"),
            // An id that is used again behind the rewind counts from there.
            ("a b r<b b", "a b"),
            // What is not there, lies behind, or names nothing takes nothing back.
            ("a r<z b", "a b"),
            ("a r<r b", "a b"),
            ("a r<b b", "a b"),
            ("a r< b", "a r< b"),
        ] {
            check(log, live);
        }
    }
}
