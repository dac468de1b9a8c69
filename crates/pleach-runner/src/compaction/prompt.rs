//! Estimates the size of a prompt made from events, and how much a summary shortens it.

use std::io::{self, Write};
use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{Content, Event, EventCompaction};

/// Returns the indices of the effective summaries among `events`: a summary inside the range of another one is superseded,
/// and of two equal ones the later counts.
fn summaries(events: &[&Event]) -> Vec<usize> {
    let mut found: Vec<(usize, &EventCompaction)> = Vec::new();
    for (place, event) in events.iter().enumerate() {
        found.extend(event.actions().compaction().map(|compaction| (place, compaction)));
    }
    // Every summary comes after all that can contain it, so comparing with the largest end so far is enough.
    found.sort_by(|(left, a), (right, b)| {
        let by_range =
            a.start_timestamp.total_cmp(&b.start_timestamp).then(b.end_timestamp.total_cmp(&a.end_timestamp));
        by_range.then(right.cmp(left))
    });
    let mut farthest = f64::NEG_INFINITY;
    let mut counting = Vec::new();
    for (place, compaction) in found {
        if counting.is_empty() || compaction.end_timestamp > farthest {
            farthest = compaction.end_timestamp;
            counting.push(place);
        }
    }
    counting.sort_unstable();
    counting
}

/// Returns the newest effective summary with its event.
pub(super) fn latest_summary<'a>(events: &[&'a Arc<Event>]) -> Option<(&'a Event, &'a EventCompaction)> {
    let plain: Vec<&'a Event> = events.iter().map(|event| &***event).collect();
    let event = plain[*summaries(&plain).last()?];
    Some((event, event.actions().compaction()?))
}

/// Returns the contents of the prompt made from `events`, with summaries in place of the events they cover, in no
/// particular order.
pub(super) fn contents<'a>(events: &[&'a Event]) -> Vec<&'a Content> {
    let counting: Vec<&EventCompaction> =
        summaries(events).into_iter().filter_map(|place| events[place].actions().compaction()).collect();
    let mut covered: Vec<(f64, f64)> = Vec::new();
    let mut spans: Vec<(f64, f64)> = counting.iter().map(|one| (one.start_timestamp, one.end_timestamp)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (start, end) in spans.into_iter().filter(|(start, end)| start <= end) {
        match covered.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => covered.push((start, end)),
        }
    }
    let is_covered = |time: f64| {
        let place = covered.partition_point(|(start, _)| *start <= time);
        place.checked_sub(1).is_some_and(|place| time <= covered[place].1)
    };
    let raw = events.iter().filter(|event| event.actions().compaction().is_none() && !is_covered(event.timestamp()));
    let summed = counting.iter().map(|compaction| &compaction.compacted_content);
    summed.chain(raw.filter_map(|event| event.content())).collect()
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
    !to_a_node && !of_a_tool && !is_internal(content) && content.parts().iter().any(is_visible)
}

fn is_visible(part: &pleach_core::Part) -> bool {
    let always = part.function_call.is_some()
        || part.function_response.is_some()
        || part.thought_signature.as_ref().is_some_and(|signature| !signature.is_empty())
        || part.tool_call.is_some()
        || part.tool_response.is_some();
    let has_text = part.text.as_ref().is_some_and(|text| !text.is_empty());
    let has_media = part.inline_data.is_some() || part.file_data.is_some();
    let has_code = part.executable_code.is_some() || part.code_execution_result.is_some();
    always || (!part.is_thought() && (has_text || has_media || has_code))
}

/// Returns whether the content is a credential, a confirmation or a framework message, which prompts omit.
fn is_internal(content: &Content) -> bool {
    let internal = |name: &Option<String>| {
        matches!(name.as_deref(), Some("adk_framework" | "adk_request_credential" | "adk_request_confirmation"))
    };
    content.function_calls().any(|call| internal(&call.name))
        || content.function_responses().any(|response| internal(&response.name))
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
