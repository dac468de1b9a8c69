//! Finds where the last invocations of a conversation begin.

use std::collections::HashSet;

use pleach_model::SharedContent;

/// Returns the index of the first content that is kept. The last `keep` invocations are kept, and also the calls that
/// their responses answer. Nothing is removed unless at least `remove` invocations can be removed.
pub(super) fn kept_from(contents: &[SharedContent], keep: usize, remove: usize) -> usize {
    let starts = starts(contents);
    if starts.len() < keep.saturating_add(remove) {
        return 0;
    }
    let wanted = starts.len().checked_sub(keep).and_then(|place| starts.get(place).copied());
    let Some(wanted) = wanted else { return 0 };
    let place = with_their_calls(contents, wanted);
    // The message that led to the call is also kept, because some providers refuse a conversation that begins with a
    // call.
    starts.into_iter().rev().find(|start| *start <= place).unwrap_or(0)
}

/// Returns the indices at which invocations begin, which is the first of one or more consecutive messages of the user.
fn starts(contents: &[SharedContent]) -> Vec<usize> {
    let is_person = |content: &SharedContent| {
        content.role() == Some("user") && content.parts().iter().all(|part| part.function_response.is_none())
    };
    let mut before = false;
    let mut starts = Vec::new();
    for (place, content) in contents.iter().enumerate() {
        let is = is_person(content);
        if is && !before {
            starts.push(place);
        }
        before = is;
    }
    starts
}

/// Moves an index to the left until the call of every response after it is also after it.
fn with_their_calls(contents: &[SharedContent], wanted: usize) -> usize {
    let mut needed: HashSet<&str> = HashSet::new();
    for (place, content) in contents.iter().enumerate().rev() {
        for part in content.parts().iter().rev() {
            if let Some(id) = part.function_response.as_ref().and_then(|response| non_empty(&response.id)) {
                needed.insert(id);
            }
            if let Some(id) = part.function_call.as_ref().and_then(|call| non_empty(&call.id)) {
                needed.remove(id);
            }
        }
        if place <= wanted && needed.is_empty() {
            return place;
        }
    }
    0
}

pub(super) fn non_empty(id: &Option<String>) -> Option<&str> {
    id.as_deref().filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, FunctionCall, FunctionResponse, Map, Part};

    use super::*;

    /// Builds a conversation from words: `u`ser, `m`odel, `c1` a call, `r1` its response.
    fn contents(words: &str) -> Vec<SharedContent> {
        let content = |word: &str| match word.split_at(1) {
            ("u", _) => Content::user(word),
            ("c", id) => Content::new("model", [Part::function_call(FunctionCall::new(id, "f", Map::new()))]),
            ("r", id) => Content::new("user", [Part::function_response(FunctionResponse::new(id, "f", Map::new()))]),
            _ => Content::model(word),
        };
        words.split(' ').map(|word| content(word).into()).collect()
    }

    /// The expected indices come from google-adk 2.13.0 with the same conversations. Where google-adk begins with a
    /// call, the index of the message before the call is expected here.
    #[test]
    fn the_last_invocations_are_kept_with_the_calls_of_their_responses() {
        for (words, keep, remove, expected) in [
            ("u m u m u", 1, 1, 4),
            ("u m u m u", 2, 1, 2),
            ("u m u m u", 3, 1, 0),
            ("u m u m u", 2, 2, 0),
            ("u m u m u m u", 2, 2, 4),
            ("u u m u m", 1, 1, 3),
            ("u c1 r1 m u c2 r2 m u", 2, 1, 4),
            ("u c1 m u m r1 m u", 1, 1, 7),
            ("u c1 m u r1 m u", 2, 1, 0),   // google-adk: 1
            ("u m u c1 m u r1 m", 1, 1, 2), // google-adk: 3
            ("u m u c1 c2 r2 m u r1 m u m", 1, 1, 10),
            ("m m m", 1, 1, 0),
        ] {
            assert_eq!(kept_from(&contents(words), keep, remove), expected, "{words}, {keep}, {remove}");
        }
    }
}
