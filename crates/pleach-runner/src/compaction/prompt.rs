//! Estimates the size of a prompt made from events, and how much a summary shortens it.

use std::io::{self, Write};
use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{Content, Event, EventCompaction};
use pleach_session::{Summaries, is_internal_content, is_visible_part};

/// Returns the newest effective summary with its event.
pub(super) fn latest_summary<'a>(events: &[&'a Arc<Event>]) -> Option<(&'a Event, &'a EventCompaction)> {
    let summaries = Summaries::of(events.iter().map(|event| &***event));
    summaries.effective().last().map(|(place, summary)| (&**events[*place], *summary))
}

/// Returns the contents of the prompt made from `events`, with summaries in place of the events they cover, in no
/// particular order.
pub(super) fn contents<'a>(events: &[&'a Event]) -> Vec<&'a Content> {
    let summaries = Summaries::of(events.iter().copied());
    let is_covered = |event: &Event| summaries.covers(event.timestamp());
    let raw = events.iter().filter(|event| event.actions().compaction().is_none() && !is_covered(event));
    let raw: Vec<&Content> = raw.filter_map(|event| event.content()).collect();
    summaries.effective().iter().map(|(_, summary)| &summary.compacted_content).chain(raw).collect()
}

/// Returns whether a summary of `range` is expected to shorten the prompt. The size of the last summary estimates that of
/// the next one, because the decision comes before paying for it.
pub(super) fn is_worth_it(events: &[&Arc<Event>], range: &[Arc<Event>]) -> bool {
    let mut plain: Vec<&Event> = events.iter().map(|event| &***event).collect();
    let times = || range.iter().map(|event| event.timestamp());
    let mut weightless = Event::from_author("model");
    weightless.actions_mut().set_compaction(Some(EventCompaction {
        start_timestamp: times().fold(f64::INFINITY, f64::min),
        end_timestamp: times().fold(f64::NEG_INFINITY, f64::max),
        compacted_content: Content::new("model", []),
    }));
    let last = latest_summary(events).map_or(0, |(_, compaction)| size(&compaction.compacted_content));
    let before = total_size(&plain);
    plain.push(&weightless);
    before > total_size(&plain).saturating_add(last)
}

fn total_size(events: &[&Event]) -> usize {
    contents(events).into_iter().map(size).sum()
}

/// Returns the size of a content: the number of characters of its JSON.
fn size(content: &Content) -> usize {
    struct Characters(usize);

    impl Write for Characters {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Every character has one byte that is not a continuation byte.
            self.0 += bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut characters = Characters(0);
    // Writing a content does not fail, and the size is only an estimate.
    let _ = serde_json::to_writer(&mut characters, content);
    characters.0
}

/// Returns the number of tokens in the last prompt: the count that a model reported since the last summary, or else an
/// estimate from the contents that a prompt would contain. `None` without contents.
///
/// google-adk estimates from a fully assembled prompt, which omits calls without answers and quotes answers; here each
/// content counts as stored.
pub(super) fn token_count(events: &[&Arc<Event>]) -> Option<u64> {
    for event in events.iter().rev().take_while(|event| event.actions().compaction().is_none()) {
        let usage = event.model().and_then(|model| model.usage_metadata.as_ref());
        if let Some(tokens) = usage.and_then(|usage| usage.get("prompt_token_count")?.as_u64()) {
            return Some(tokens);
        }
    }
    let calls: HashSet<&str> =
        events.iter().flat_map(|event| event.function_calls()).filter_map(|call| call.id.as_deref()).collect();
    let shown: Vec<&Event> = events.iter().map(|event| &***event).filter(|event| is_shown(event, &calls)).collect();
    match contents(&shown).into_iter().map(characters).sum::<usize>() {
        0 => None,
        // A rule of thumb: a token has four characters.
        total => Some(total as u64 / 4),
    }
}

/// Returns whether a prompt contains the event.
fn is_shown(event: &Event, calls: &HashSet<&str>) -> bool {
    if event.actions().compaction().is_some() {
        return true;
    }
    let Some(content) = event.content().filter(|content| content.role().is_some_and(|role| !role.is_empty())) else {
        return false;
    };
    let answers = content.function_responses().next().is_some();
    // A node or a workflow that is named `user` writes its own events under that name.
    let to_a_node = event.author() == "user"
        && !answers
        && !event.path().is_root()
        && !event.path().segments().any(|segment| segment.starts_with("user@"));
    let of_a_tool = event.branch().is_some_and(|branch| branch.run_ids().any(|id| calls.contains(id)));
    !to_a_node
        && !of_a_tool
        && !is_internal_content(content)
        && content.parts().iter().any(|part| is_visible_part(part, || false))
}

/// Returns the number of characters of a content that cost tokens.
fn characters(content: &Content) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
    let json = |map: &Option<pleach_core::Map>| {
        let full = map.as_ref().filter(|map| !map.is_empty());
        full.and_then(|map| serde_json::to_string(map).ok()).map_or(0, |json| json.chars().count())
    };
    let of_part = |part: &pleach_core::Part| {
        let call = part.function_call.as_ref().map_or(0, |call| text(&call.name) + json(&call.args));
        let answer = part.function_response.as_ref().map_or(0, |one| text(&one.name) + json(&one.response));
        text(&part.text) + call + answer
    };
    content.parts().iter().map(of_part).sum()
}
