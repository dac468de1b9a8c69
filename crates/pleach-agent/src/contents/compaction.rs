//! Summaries instead of what they sum up.
// L46

use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use pleach_core::{Event, EventCompaction};

use super::entry::Entry;

/// An entry with the place of its event among those that the agent sees.
type Placed<'e> = (usize, Entry<'e>);

/// Makes the entries of the events that the agent sees: summaries at the end of the time that they sum up, and the events
/// outside of these times.
pub(super) fn apply<'e>(events: &[&'e Arc<Event>]) -> Vec<Entry<'e>> {
    if !events.iter().any(|event| event.actions().compaction().is_some()) {
        return events.iter().filter_map(|event| Entry::of(event)).collect();
    }
    let counting = counting(events);
    let covered = covered(&counting);
    let is_covered = |time: f64| {
        let place = covered.partition_point(|(start, _)| *start <= time);
        place.checked_sub(1).is_some_and(|place| time <= covered[place].1)
    };
    let mut placed: Vec<(f64, Placed<'e>)> = Vec::new();
    for (place, compaction) in &counting {
        let entry = Entry::summary_of(events[*place]);
        placed.extend(entry.map(|entry| (compaction.end_timestamp, (*place, entry))));
    }
    for (place, event) in events.iter().enumerate() {
        if event.actions().compaction().is_none() && !is_covered(event.timestamp()) {
            placed.extend(Entry::of(event).map(|entry| (event.timestamp(), (place, entry))));
        }
    }
    placed.sort_by(|(a_time, (a, _)), (b_time, (b, _))| a_time.total_cmp(b_time).then(a.cmp(b)));
    recover_calls(placed.into_iter().map(|(_, entry)| entry).collect(), events)
}

/// The summaries that count, in the order of the events: one that another contains is superseded, and of two equal ones
/// the later counts.
fn counting<'e>(events: &[&'e Arc<Event>]) -> Vec<(usize, &'e EventCompaction)> {
    let found = events.iter().enumerate();
    let mut found: Vec<(usize, &EventCompaction)> =
        found.filter_map(|(place, event)| Some((place, event.actions().compaction()?))).collect();
    // Every summary comes behind all that can contain it, so the farthest end so far decides.
    found.sort_by(|(left, a), (right, b)| {
        let by_time = a.start_timestamp.total_cmp(&b.start_timestamp).then(b.end_timestamp.total_cmp(&a.end_timestamp));
        by_time.then(right.cmp(left))
    });
    let mut farthest: Option<f64> = None;
    found.retain(|(_, compaction)| {
        let counts = farthest.is_none_or(|farthest| compaction.end_timestamp > farthest);
        if counts {
            farthest = Some(compaction.end_timestamp);
        }
        counts
    });
    found.sort_by_key(|(place, _)| *place);
    found
}

/// The times that summaries cover, joined where they overlap.
fn covered(counting: &[(usize, &EventCompaction)]) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = counting
        .iter()
        .map(|(_, one)| (one.start_timestamp, one.end_timestamp))
        .filter(|(start, end)| start <= end)
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut covered: Vec<(f64, f64)> = Vec::new();
    for (start, end) in spans {
        match covered.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => covered.push((start, end)),
        }
    }
    covered
}

/// Which event answers a call: the place of the event that calls, and the id.
type CallKey<'e> = (usize, &'e str);

/// Calls and responses among the events, those that are summed up included.
#[derive(Default)]
struct Calls<'e> {
    /// The place of the call that a response answers: the latest before it with its id.
    call_of: HashMap<CallKey<'e>, usize>,
    /// The place of the last response to a call.
    last_response: HashMap<CallKey<'e>, usize>,
    /// The calls that a surviving event answers.
    answered: HashSet<CallKey<'e>>,
}

impl<'e> Calls<'e> {
    fn of(events: &[&'e Arc<Event>], surviving: &HashSet<usize>) -> Self {
        let mut calls = Self::default();
        let mut latest: HashMap<&str, usize> = HashMap::default();
        for (place, event) in events.iter().enumerate() {
            latest.extend(event.function_calls().filter_map(|call| Some((call.id.as_deref()?, place))));
            for id in event.function_responses().filter_map(|response| response.id.as_deref()) {
                let Some(call) = latest.get(id).copied() else { continue };
                calls.call_of.insert((place, id), call);
                if surviving.contains(&place) {
                    calls.answered.insert((call, id));
                }
                let last = calls.last_response.entry((call, id)).or_insert(place);
                if event.timestamp() >= events[*last].timestamp() {
                    *last = place;
                }
            }
        }
        calls
    }
}

/// Puts back calls that a summary has taken away from a surviving response, whole, with the last responses to its other
/// calls: a call keeps the signatures of its siblings, and none of them looks unanswered.
fn recover_calls<'e>(placed: Vec<Placed<'e>>, events: &[&'e Arc<Event>]) -> Vec<Entry<'e>> {
    let is_answer = |(_, entry): &Placed<'_>| entry.has_responses && entry.raw().is_some();
    if !placed.iter().any(is_answer) {
        return placed.into_iter().map(|(_, entry)| entry).collect();
    }
    let surviving: HashSet<usize> =
        placed.iter().filter(|(_, entry)| entry.raw().is_some()).map(|(place, _)| *place).collect();
    let calls = Calls::of(events, &surviving);
    let mut restored: HashSet<usize> = HashSet::default();
    let mut result = Vec::with_capacity(placed.len());
    for (place, entry) in placed {
        for id in events[place].function_responses().filter_map(|response| response.id.as_deref()) {
            let call = calls.call_of.get(&(place, id)).filter(|call| !surviving.contains(call));
            let Some(call) = call.filter(|call| restored.insert(**call)) else { continue };
            result.extend(Entry::of(events[*call]));
            for sibling in events[*call].function_calls().filter_map(|call| call.id.as_deref()) {
                let key = (*call, sibling);
                let response = calls.last_response.get(&key).filter(|_| !calls.answered.contains(&key));
                let response = response.filter(|response| restored.insert(**response));
                result.extend(response.and_then(|response| Entry::of(events[*response])));
            }
        }
        result.push(entry);
    }
    result
}
