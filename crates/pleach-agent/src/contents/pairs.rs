//! Finds the call that a response answers.
// L47–L51

use foldhash::HashMap;
use pleach_core::FunctionResponse;

use super::entry::Entry;

/// The calls of a conversation by id. Calls without an id are found by name.
pub(super) struct CallIndex<'c> {
    by_id: HashMap<&'c str, Vec<usize>>,
    by_name: HashMap<&'c str, Vec<usize>>,
}

impl<'c> CallIndex<'c> {
    pub(super) fn of(entries: &'c [Entry<'_>]) -> Self {
        let mut index = Self { by_id: HashMap::default(), by_name: HashMap::default() };
        for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.has_calls) {
            for call in entry.content.function_calls() {
                match (full(&call.id), full(&call.name)) {
                    (Some(id), _) => index.by_id.entry(id).or_default().push(place),
                    (None, Some(name)) => index.by_name.entry(name).or_default().push(place),
                    (None, None) => {}
                }
            }
        }
        index
    }

    /// Returns the index of the call that a response answers: the newest matching call before `before`.
    pub(super) fn owner(&self, response: &FunctionResponse, before: usize) -> Option<usize> {
        let places = match full(&response.id) {
            Some(id) => self.by_id.get(id),
            None => self.by_name.get(full(&response.name)?),
        }?;
        let count = places.partition_point(|place| *place < before);
        Some(places[count.checked_sub(1)?])
    }
}

/// The largest number of parts for which comparing all pairs is quicker than the passes that use an index.
const FEW: usize = 64;

/// Returns `true` if calls and responses are already in order, as they nearly always are: every call is answered by
/// the next content, and every response answers a call of the previous content. Only ids are compared, so this check
/// is cheap.
pub(super) fn are_in_place(entries: &[Entry<'_>]) -> bool {
    entries.iter().enumerate().all(|(place, entry)| {
        if !entry.has_calls && !entry.has_responses {
            return true;
        }
        if entry.content.parts().len() > FEW {
            return false;
        }
        let before = place.checked_sub(1).map(|before| &entries[before]);
        let after = entries.get(place + 1);
        let is_answer = !entry.has_responses || before.is_some_and(|before| answers(entry, before));
        let is_answered = !entry.has_calls || after.is_some_and(|after| is_answered_by(entry, after));
        is_answer && is_answered
    })
}

/// Returns `true` if all responses of an entry answer calls of the previous entry, and that entry has no responses.
fn answers(entry: &Entry<'_>, before: &Entry<'_>) -> bool {
    !before.has_responses
        && entry.content.function_responses().all(|response| {
            let mut calls = before.content.function_calls();
            full(&response.id).is_some_and(|id| calls.any(|call| call.id.as_deref() == Some(id)))
        })
}

/// Returns `true` if the next entry answers all calls of an entry, and the entry has no responses of its own.
fn is_answered_by(entry: &Entry<'_>, after: &Entry<'_>) -> bool {
    !entry.has_responses
        && entry.content.function_calls().all(|call| {
            let mut responses = after.content.function_responses();
            full(&call.id).is_some_and(|id| responses.any(|response| response.id.as_deref() == Some(id)))
        })
}

pub(super) fn full(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
