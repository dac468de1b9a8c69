//! Selects the events of a sliding window over invocations.

use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::Event;

use super::prefix::self_contained;

/// Returns the events to summarise, or none if fewer than `interval` invocations have begun since the last summary. The
/// window starts `overlap` invocations before the first new one and extends to the end of the last one.
pub(super) fn sliding_window(events: &[&Arc<Event>], interval: usize, overlap: usize) -> Vec<Arc<Event>> {
    let summed_up = events.iter().rev().filter_map(|event| event.actions().compaction());
    // An end of zero is treated as no summary.
    let last_end = summed_up.map(|one| one.end_timestamp).find(|end| *end != 0.0).unwrap_or(0.0);
    let invocations = invocations(events);
    let new: Vec<usize> = (0..invocations.len()).filter(|place| invocations[*place].1 > last_end).collect();
    let (Some(first), Some(last)) = (new.first(), new.last()) else { return Vec::new() };
    if new.len() < interval {
        return Vec::new();
    }
    let from = invocations[first.saturating_sub(overlap)].0;
    let to = invocations[*last].0;
    let begin = events.iter().position(|event| event.invocation_id().as_str() == from).unwrap_or_default();
    let end = events.iter().rposition(|event| event.invocation_id().as_str() == to).unwrap_or_default();
    let span = events.get(begin..=end).unwrap_or_default().iter();
    let mut range: Vec<Arc<Event>> =
        span.filter(|event| event.actions().compaction().is_none()).map(|event| Arc::clone(event)).collect();
    range.truncate(self_contained(&range, events));
    range
}

/// Returns the invocations in the order in which they began, with the times of their last events.
fn invocations<'a>(events: &[&'a Arc<Event>]) -> Vec<(&'a str, f64)> {
    let mut places: HashMap<&str, usize> = HashMap::default();
    let mut found: Vec<(&str, f64)> = Vec::new();
    for event in events.iter().filter(|event| event.actions().compaction().is_none()) {
        let id = event.invocation_id().as_str();
        if id.is_empty() {
            continue;
        }
        let place = *places.entry(id).or_insert_with(|| {
            found.push((id, 0.0));
            found.len() - 1
        });
        found[place].1 = found[place].1.max(event.timestamp());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pleach_core::Content;
    use pleach_session::summary_event;

    /// Makes a log: each letter is an event of the invocation with this name, and `|` is a summary of all events before
    /// it.
    fn log(text: &str) -> Vec<Arc<Event>> {
        let mut events: Vec<Arc<Event>> = Vec::new();
        for (time, letter) in (1..).zip(text.chars()) {
            let mut event = match letter {
                '|' => summary_event(&events, Content::model("summary")).unwrap(),
                letter => {
                    let mut event = Event::message("hello");
                    event.set_invocation_id(letter.to_string());
                    event
                }
            };
            event.set_timestamp(f64::from(time));
            events.push(Arc::new(event));
        }
        events
    }

    #[test]
    fn r1150_a_window_slides_over_invocations_and_overlaps() {
        for (rule, text, interval, overlap, expected) in [
            ("too few invocations", "ab", 3, 0, ""),
            ("enough invocations", "abc", 3, 0, "abc"),
            ("several events of one invocation are counted once", "aab", 3, 0, ""),
            ("nothing new since the summary", "abc|", 1, 0, ""),
            ("only what is new", "abc|de", 2, 0, "de"),
            ("with the invocations before it", "abc|de", 2, 1, "cde"),
            ("with more than there are", "a|bc", 2, 5, "abc"),
        ] {
            let events = log(text);
            let range = sliding_window(&events.iter().collect::<Vec<_>>(), interval, overlap);
            let found: String = range.iter().map(|event| event.invocation_id().as_str()).collect();
            assert_eq!(found, expected, "{rule}");
        }
    }
}
