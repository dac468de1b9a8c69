//! Drops calls and responses without their counterpart.
// L47, L51

use foldhash::HashSet;
use pleach_core::Part;

use super::entry::Entry;
use super::pairs::{CallIndex, full};

/// Leaves out responses without an earlier call, because providers refuse them.
pub(super) fn drop_responses(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    if !entries.iter().any(|entry| entry.has_responses) {
        return entries;
    }
    let index = CallIndex::of(&entries);
    let is_kept = |part: &Part, place: usize| {
        part.function_response.as_ref().is_none_or(|response| index.owner(response, place).is_some())
    };
    let kept = marks(&entries, |entry| entry.has_responses, is_kept);
    keep(entries, kept)
}

/// Leaves out calls with an id that have no response, unless their results come later.
pub(super) fn drop_calls(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    if !entries.iter().any(|entry| entry.has_calls) {
        return entries;
    }
    let answering = entries.iter().filter(|entry| entry.has_responses);
    let mut known: HashSet<&str> = answering
        .flat_map(|entry| entry.content.function_responses())
        .filter_map(|response| full(&response.id))
        .collect();
    let later = entries.iter().filter_map(|entry| entry.raw()?.long_running_tool_ids());
    known.extend(later.flatten().map(String::as_str));
    let is_kept = |part: &Part, _| {
        part.function_call.as_ref().and_then(|call| full(&call.id)).is_none_or(|id| known.contains(id))
    };
    let kept = marks(&entries, |entry| entry.has_calls, is_kept);
    keep(entries, kept)
}

/// Returns for each entry which of its parts are kept. If all parts of an entry are kept, its list is empty.
fn marks<'e>(
    entries: &[Entry<'e>],
    concerns: impl Fn(&Entry<'e>) -> bool,
    is_kept: impl Fn(&Part, usize) -> bool,
) -> Vec<Vec<bool>> {
    let marks = |(place, entry): (usize, &Entry<'e>)| {
        if !concerns(entry) {
            return Vec::new();
        }
        entry.content.parts().iter().map(|part| is_kept(part, place)).collect()
    };
    entries.iter().enumerate().map(marks).collect()
}

fn keep(entries: Vec<Entry<'_>>, kept: Vec<Vec<bool>>) -> Vec<Entry<'_>> {
    entries.into_iter().zip(kept).filter_map(|(entry, kept)| entry.keeping(&kept)).collect()
}
