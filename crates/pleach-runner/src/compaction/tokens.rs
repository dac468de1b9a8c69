//! Selects the events to summarise when a prompt is too long.

use std::sync::Arc;

use pleach_core::Event;

use super::prefix::{safe_split, self_contained};
use super::prompt::latest_summary;

/// Returns the events to summarise when a prompt is too long: the last summary and all events after it, except the
/// newest `retained` ones. The last summary is included so that the new one supersedes it.
pub(super) fn all_but_newest(events: &[&Arc<Event>], retained: usize) -> Vec<Arc<Event>> {
    let summary = latest_summary(events);
    let last_end = summary.map_or(0.0, |(_, compaction)| compaction.end_timestamp);
    let is_new = |event: &&&Arc<Event>| event.actions().compaction().is_none() && event.timestamp() > last_end;
    let mut range: Vec<Arc<Event>> = events.iter().filter(is_new).map(|event| Arc::clone(event)).collect();
    if range.len() <= retained {
        return Vec::new();
    }
    if retained > 0 {
        range.truncate(safe_split(&range, range.len() - retained));
    }
    range.truncate(self_contained(&range, events));
    if let (Some((event, compaction)), false) = (summary, range.is_empty()) {
        let mut seed = Event::from_author("model").with_content(compaction.compacted_content.clone());
        seed.set_timestamp(compaction.start_timestamp);
        seed.set_branch(event.branch().cloned());
        range.insert(0, Arc::new(seed));
    }
    range
}
