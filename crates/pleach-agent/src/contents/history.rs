//! Puts the responses after their calls throughout a conversation.
// L49, L50

use std::collections::BTreeSet;

use foldhash::{HashMap, HashSet};

use super::entry::Entry;
use super::merge::merge;

/// The indices of the entries that answer a call, by the call's id and index.
type Responses<'c> = HashMap<(Option<&'c str>, usize), Vec<usize>>;

/// Moves responses to their calls: every entry with calls is followed by one content with the last response to each
/// call. Texts between two responses to the same call are left out.
/// ADK: `rearrange_events_for_async_function_responses_in_history`
pub(super) fn rearrange(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    if !entries.iter().any(|entry| entry.has_responses) {
        return entries;
    }
    let responses = responses(&entries);
    let stale = stale_texts(&entries, &responses);
    let mut result = Vec::with_capacity(entries.len());
    for (place, entry) in entries.iter().enumerate() {
        if entry.has_responses || stale.contains(&place) {
            continue;
        }
        result.push(entry.clone());
        let ids = entry.content.function_calls().map(|call| call.id.as_deref());
        let last: BTreeSet<usize> = ids.filter_map(|id| responses.get(&(id, place))?.last().copied()).collect();
        result.extend(answer(&entries, &last));
    }
    result
}

/// Merges the entries at `places` into one entry.
fn answer<'e>(entries: &[Entry<'e>], places: &BTreeSet<usize>) -> Option<Entry<'e>> {
    let first = &entries[*places.first()?];
    if places.len() == 1 {
        return Some(first.clone());
    }
    let parts = places.iter().map(|place| entries[*place].content.parts().iter().collect());
    Some(first.with_parts(merge(parts)))
}

/// Assigns every response to the newest earlier call with the same id. Ids may repeat. A response before all calls
/// with its id belongs to the first of these calls.
fn responses<'c>(entries: &'c [Entry<'_>]) -> Responses<'c> {
    let mut calls: HashMap<Option<&str>, Vec<usize>> = HashMap::default();
    for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.has_calls && !entry.has_responses) {
        for call in entry.content.function_calls() {
            calls.entry(call.id.as_deref()).or_default().push(place);
        }
    }
    let mut responses = Responses::default();
    for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.has_responses) {
        for response in entry.content.function_responses() {
            let id = response.id.as_deref();
            let Some(calls) = calls.get(&id) else { continue };
            let call = calls[calls.partition_point(|call| *call < place).saturating_sub(1)];
            responses.entry((id, call)).or_default().push(place);
        }
    }
    responses
}

/// Returns the indices of texts between two updates of one call. The model wrote them in reply to a response that was
/// replaced.
// L50
fn stale_texts(entries: &[Entry<'_>], responses: &Responses<'_>) -> HashSet<usize> {
    let mut stale = HashSet::default();
    let pairs: HashSet<(usize, usize)> =
        responses.values().flat_map(|places| places.windows(2).map(|pair| (pair[0], pair[1]))).collect();
    for (current, next) in pairs {
        let (Some(first), Some(second)) = (entries[current].raw(), entries[next].raw()) else { continue };
        let asks = !first.actions().requested_tool_confirmations().is_empty()
            || !first.actions().requested_auth_configs().is_empty();
        if asks || first.invocation_id() != second.invocation_id() || first.author() != second.author() {
            continue;
        }
        let between = current + 1..next;
        let is_text = |place: usize| {
            let entry = &entries[place];
            entry.raw().is_some_and(|event| event.invocation_id() == first.invocation_id() && event.author() != "user")
                && entry.content.role() == Some("model")
                && !entry.has_calls
                && entry.content.parts().iter().any(|part| part.text.as_ref().is_some_and(|text| !text.is_empty()))
        };
        if between.clone().all(is_text) {
            stale.extend(between);
        }
    }
    stale
}
