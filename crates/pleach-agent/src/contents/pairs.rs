//! Which call a response answers.

use foldhash::HashMap;
use pleach_core::FunctionResponse;

use super::entry::Entry;

/// The calls of a conversation, by id, and by name for those that have none.
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

    /// Returns the place of the newest call before `before` that a response answers.
    pub(super) fn owner(&self, response: &FunctionResponse, before: usize) -> Option<usize> {
        let places = match full(&response.id) {
            Some(id) => self.by_id.get(id),
            None => self.by_name.get(full(&response.name)?),
        }?;
        let count = places.partition_point(|place| *place < before);
        Some(places[count.checked_sub(1)?])
    }
}

pub(super) fn full(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
