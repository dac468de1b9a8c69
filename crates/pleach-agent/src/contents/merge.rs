//! Merges several events that answer the calls of one event.
// L48, L49

use foldhash::HashMap;
use pleach_core::Part;

/// Merges the parts of events that answer the calls of one event. The oldest event comes first. If several events
/// respond to the same call, the latest response takes the position of the first one. All other parts keep their order.
/// ADK: `merge_function_response_events`
pub(super) fn merge<'p>(events: impl IntoIterator<Item = Vec<&'p Part>>) -> Vec<Part> {
    let mut merged: Vec<&Part> = Vec::new();
    let mut places: HashMap<Option<&str>, usize> = HashMap::default();
    for (number, parts) in events.into_iter().enumerate() {
        for part in parts {
            let id = part.function_response.as_ref().map(|response| response.id.as_deref());
            match id.and_then(|id| places.get(&id)) {
                // The first event is used unchanged, even if it has an id twice.
                Some(place) if number > 0 => merged[*place] = part,
                _ => {
                    places.extend(id.map(|id| (id, merged.len())));
                    merged.push(part);
                }
            }
        }
    }
    merged.into_iter().cloned().collect()
}
