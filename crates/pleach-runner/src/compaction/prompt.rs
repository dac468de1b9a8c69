//! Estimates the size of a prompt made from events, and how much a summary shortens it.

use std::io::{self, Write};
use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{Content, Event, EventCompaction};
use pleach_session::{Summaries, estimated_tokens, is_internal_content, is_visible_part};

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

/// Returns `true` if a summary of `range` is expected to shorten the prompt. The new summary does not exist yet, so the
/// size of the last one serves as an estimate.
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
            // In UTF-8, each character has exactly one byte that is not a continuation byte.
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

/// Returns the number of tokens that a model reported for the last prompt since the last summary. If `agent` is set,
/// only the prompts of that agent are considered.
pub(super) fn reported_tokens(events: &[&Arc<Event>], agent: Option<&str>) -> Option<u64> {
    let since_summary = events.iter().rev().take_while(|event| event.actions().compaction().is_none());
    let own = since_summary.filter(|event| agent.is_none_or(|agent| event.author() == agent));
    own.filter_map(|event| event.model()?.usage_metadata.as_ref()?.get("prompt_token_count")?.as_u64()).next()
}

/// Estimates the number of tokens in a prompt from the contents that it would contain, for no particular agent. Returns
/// `None` if there are no contents.
///
/// google-adk assembles the prompt first, which omits calls without answers and quotes answers. Here each content is
/// measured in its stored form.
pub(super) fn estimate(events: &[&Arc<Event>]) -> Option<u64> {
    let calls: HashSet<&str> =
        events.iter().flat_map(|event| event.function_calls()).filter_map(|call| call.id.as_deref()).collect();
    let shown: Vec<&Event> = events.iter().map(|event| &***event).filter(|event| is_shown(event, &calls)).collect();
    estimated_tokens(contents(&shown))
}

/// Returns `true` if a prompt contains the event.
fn is_shown(event: &Event, calls: &HashSet<&str>) -> bool {
    if event.actions().compaction().is_some() {
        return true;
    }
    let Some(content) = event.content().filter(|content| content.role().is_some_and(|role| !role.is_empty())) else {
        return false;
    };
    let answers = content.function_responses().next().is_some();
    // If a node or workflow is named `user`, its own events have this author as well.
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
