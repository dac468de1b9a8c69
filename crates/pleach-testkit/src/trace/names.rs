//! [`Names`]: counted names for ids.

use std::collections::HashMap;
use std::ops::Range;

use pleach_core::Uuid;

/// The length of a UUID as text.
const LENGTH: usize = 36;

/// Names for the ids of a log, numbered in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<String, usize>,
    invocations: HashMap<String, usize>,
}

impl Names {
    /// Returns the number of an invocation, from 1.
    pub(super) fn invocation(&mut self, id: &str) -> usize {
        let next = self.invocations.len() + 1;
        *self.invocations.entry(id.to_owned()).or_insert(next)
    }

    /// Returns a text whose UUIDs are replaced by `<id 1>`, `<id 2>` and so on.
    pub(super) fn replace(&mut self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut end = 0;
        for (place, _) in uuids(text) {
            let next = self.ids.len() + 1;
            let number = *self.ids.entry(text[place.clone()].to_owned()).or_insert(next);
            replaced.push_str(&text[end..place.start]);
            replaced.push_str(&format!("<id {number}>"));
            end = place.end;
        }
        replaced.push_str(&text[end..]);
        replaced
    }
}

/// Returns true if an id has the form of idempotency keys, which are derived from what they name.
pub(crate) fn is_stable(id: Uuid) -> bool {
    id.get_version_num() == 8
}

/// Returns the UUIDs of a text, with their positions.
pub(crate) fn uuids(text: &str) -> Vec<(Range<usize>, Uuid)> {
    let mut found = Vec::new();
    let mut start = 0;
    while start + LENGTH <= text.len() {
        let id = text.get(start..start + LENGTH).filter(|part| part.as_bytes()[8] == b'-');
        match id.and_then(|id| Uuid::try_parse(id).ok()) {
            Some(id) => {
                found.push((start..start + LENGTH, id));
                start += LENGTH;
            }
            None => start += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_named_in_order_of_appearance() {
        let (one, two) = ("3f2a1b00-0000-4000-8000-000000000001", "3f2a1b00-0000-4000-8000-000000000002");
        let mut names = Names::default();
        assert_eq!(names.replace(&format!("ä{two}, adk-{one}!")), "ä<id 1>, adk-<id 2>!");
        assert_eq!(names.replace(&format!("{one}{two}")), "<id 2><id 1>");
        assert_eq!(names.replace("no id"), "no id");
    }
}
