//! Repairs pairs of calls and responses that a function has separated.

use std::collections::HashSet;

use pleach_core::Part;
use pleach_model::SharedContent;

use super::turns::non_empty;

/// Removes calls and responses from `after` whose counterpart was dropped or is now in the wrong order. `before` shows
/// which of them are pairs. A call without a response in `before` stays, because its result comes later.
pub(super) fn mend(before: &[SharedContent], mut after: Vec<SharedContent>) -> Vec<SharedContent> {
    let pairs = pairs(before);
    let left: HashSet<String> = self::pairs(&after).into_iter().map(str::to_owned).collect();
    let torn: HashSet<&str> = pairs.into_iter().filter(|id| !left.contains(*id)).collect();
    if torn.is_empty() {
        return after;
    }
    let is_torn = |part: &Part| id_of(part).is_some_and(|id| torn.contains(id));
    after.retain_mut(|content| {
        if !content.parts().iter().any(is_torn) {
            return true;
        }
        content.to_mut().parts_mut().retain(|part| !is_torn(part));
        !content.parts().is_empty()
    });
    after
}

/// Returns the ids of calls that a later response answers.
fn pairs(contents: &[SharedContent]) -> HashSet<&str> {
    let mut called = HashSet::new();
    let mut pairs = HashSet::new();
    for part in contents.iter().flat_map(|content| content.parts()) {
        let Some(id) = id_of(part) else { continue };
        if part.function_call.is_some() {
            called.insert(id);
        } else if called.contains(id) {
            pairs.insert(id);
        }
    }
    pairs
}

fn id_of(part: &Part) -> Option<&str> {
    let of_call = part.function_call.as_ref().and_then(|call| non_empty(&call.id));
    of_call.or_else(|| part.function_response.as_ref().and_then(|response| non_empty(&response.id)))
}
