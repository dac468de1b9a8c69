//! Orders a conversation that ends in responses.
// L48

use std::collections::BTreeMap;

use pleach_core::Part;

use super::entry::Entry;
use super::merge::merge;
use super::pairs::CallIndex;

/// Moves the responses at the end right after their calls. The entries between the last of these calls and the end
/// are dropped, so that the model continues after its call. ADK: `rearrange_events_for_latest_function_response`
pub(super) fn rearrange(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    let Some((last, history)) =
        entries.split_last().filter(|(last, history)| last.has_responses && !history.is_empty())
    else {
        return entries;
    };
    let index = CallIndex::of(history);
    let answers = Answers::of(last, history.len(), &index);
    let Some(newest) = answers.newest_call() else { return entries };
    if newest + 1 == history.len() && answers.0.len() == 1 {
        return entries;
    }
    let updates = earlier_updates(history, &answers, &index);
    let mut result = Vec::with_capacity(newest + 2);
    for (place, entry) in history.iter().enumerate().take(newest + 1) {
        result.extend(without_moved(entry, place, &answers, &index));
        if let Some(parts) = answers.0.get(&place) {
            let before = updates.get(&place).cloned().unwrap_or_default();
            let merged = merge(before.into_iter().chain([parts.clone()]));
            result.push(last.with_parts(merged));
        }
    }
    result
}

/// The parts of the last entry, by the index of the call that each part answers. Parts that are not responses belong
/// to the newest call.
struct Answers<'c>(BTreeMap<usize, Vec<&'c Part>>);

impl<'c> Answers<'c> {
    fn of(last: &'c Entry<'_>, end: usize, index: &CallIndex<'_>) -> Self {
        let mut answers = Self(BTreeMap::new());
        let mut others = Vec::new();
        for part in last.content.parts() {
            match &part.function_response {
                None => others.push(part),
                Some(response) => {
                    if let Some(call) = index.owner(response, end) {
                        answers.0.entry(call).or_default().push(part);
                    }
                }
            }
        }
        if let Some(mut newest) = answers.0.last_entry() {
            newest.get_mut().extend(others);
        }
        answers
    }

    fn newest_call(&self) -> Option<usize> {
        self.0.last_key_value().map(|(place, _)| *place)
    }

    /// Returns the call that a part at `place` answers, if the last entry answers the same call.
    fn moved_call(&self, part: &Part, place: usize, index: &CallIndex<'_>) -> Option<usize> {
        let call = index.owner(part.function_response.as_deref()?, place)?;
        self.0.contains_key(&call).then_some(call)
    }
}

/// Returns the earlier responses to the calls that the last entry answers, by call and oldest first.
fn earlier_updates<'c>(
    history: &'c [Entry<'_>],
    answers: &Answers<'_>,
    index: &CallIndex<'_>,
) -> BTreeMap<usize, Vec<Vec<&'c Part>>> {
    let mut updates: BTreeMap<usize, Vec<Vec<&Part>>> = BTreeMap::new();
    for (place, entry) in history.iter().enumerate().filter(|(_, entry)| entry.has_responses) {
        let parts = entry.content.parts();
        let mut calls: Vec<usize> = parts.iter().filter_map(|part| answers.moved_call(part, place, index)).collect();
        calls.sort_unstable();
        calls.dedup();
        for call in calls {
            let belongs = |part: &&Part| match part.function_response {
                Some(_) => answers.moved_call(part, place, index) == Some(call),
                None => !entry.has_calls,
            };
            updates.entry(call).or_default().push(parts.iter().filter(belongs).collect());
        }
    }
    updates
}

/// Returns an entry of the history without the responses that are moved. Returns `None` if the entry had responses, and
/// neither calls nor responses remain.
fn without_moved<'e>(
    entry: &Entry<'e>,
    place: usize,
    answers: &Answers<'_>,
    index: &CallIndex<'_>,
) -> Option<Entry<'e>> {
    if !entry.has_responses {
        return Some(entry.clone());
    }
    let parts = entry.content.parts();
    let kept: Vec<bool> = parts.iter().map(|part| answers.moved_call(part, place, index).is_none()).collect();
    let pairs = |part: &Part| part.function_call.is_some() || part.function_response.is_some();
    let is_left = parts.iter().zip(&kept).any(|(part, kept)| *kept && pairs(part));
    is_left.then(|| entry.clone().keeping(&kept)).flatten()
}
