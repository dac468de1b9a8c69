//! Replaces events by their summaries.
// L46

use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use pleach_core::Event;
use pleach_session::Summaries;

use super::entry::Entry;

/// An entry with the index of its event in the list of events that the agent sees.
type Placed<'e> = (usize, Entry<'e>);

/// Builds the entries of the events that the agent sees. A summary replaces the events of its time span and is
/// placed at the end of the span. Events outside these spans stay.
pub(super) fn apply<'e>(events: &[&'e Arc<Event>]) -> Vec<Entry<'e>> {
    if !events.iter().any(|event| event.actions().compaction().is_some()) {
        return events.iter().filter_map(|event| Entry::of(event)).collect();
    }
    let summaries = Summaries::of(events.iter().map(|event| &***event));
    let mut placed: Vec<(f64, Placed<'e>)> = Vec::new();
    for (place, compaction) in summaries.effective() {
        let entry = Entry::summary_of(events[*place]);
        placed.extend(entry.map(|entry| (compaction.end_timestamp, (*place, entry))));
    }
    for (place, event) in events.iter().enumerate() {
        if event.actions().compaction().is_none() && !summaries.covers(event.timestamp()) {
            placed.extend(Entry::of(event).map(|entry| (event.timestamp(), (place, entry))));
        }
    }
    placed.sort_by(|(a_time, (a, _)), (b_time, (b, _))| a_time.total_cmp(b_time).then(a.cmp(b)));
    recover_calls(placed.into_iter().map(|(_, entry)| entry).collect(), events)
}

/// The key of a call or a response: the index of its event, and the id.
type CallKey<'e> = (usize, &'e str);

/// The calls and responses in the events, including summarised events.
#[derive(Default)]
struct Calls<'e> {
    /// The index of the call that a response answers: the latest earlier call with the same id.
    call_of: HashMap<CallKey<'e>, usize>,
    /// The index of the last response to a call.
    last_response: HashMap<CallKey<'e>, usize>,
    /// The calls that an event outside the summaries answers.
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

/// Restores call events that a summary has replaced, if a response to them was not summarised.
///
/// The complete event is restored, with the last responses to its other calls. So the signatures of all its calls are
/// kept, and no call looks unanswered.
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
