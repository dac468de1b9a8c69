//! Selects events to summarise without separating a call from its answer.

use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{Event, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT};

type Ids<'a> = HashSet<&'a str>;

/// Returns the length of the longest prefix of `range` after which no call and no request is open.
///
/// Calls that can no longer be answered are ignored: otherwise nothing after a lost call could ever be summarised. To
/// find these calls, `all` must be the whole history.
pub(super) fn self_contained(range: &[Arc<Event>], all: &[&Arc<Event>]) -> usize {
    let strict = balanced(range, &Ids::default());
    let ends_an_invocation =
        strict > 0 && strict < range.len() && range[strict - 1].invocation_id() != range[strict].invocation_id();
    if strict == range.len() || ends_an_invocation {
        return strict;
    }
    let dead = dead_calls(range, all);
    if dead.is_empty() { strict } else { strict.max(balanced(range, &dead)) }
}

/// Returns the largest index, at most `split`, at which the retained tail of `events` may begin: the tail must contain
/// the call of every answer in it.
pub(super) fn safe_split(events: &[Arc<Event>], split: usize) -> usize {
    let mut unmatched = Ids::default();
    for (place, event) in events.iter().enumerate().rev() {
        unmatched.extend(answers(event));
        for call in calls(event) {
            unmatched.remove(call);
        }
        if unmatched.is_empty() && place <= split {
            return place;
        }
    }
    0
}

fn balanced(range: &[Arc<Event>], dead: &Ids<'_>) -> usize {
    let mut open = Ids::default();
    let mut length = 0;
    for (place, event) in range.iter().enumerate() {
        // Answers are removed first, because an event does not answer its own calls.
        for answer in answers(event) {
            open.remove(answer);
        }
        open.extend(calls(event).chain(requests(event)).filter(|id| !dead.contains(id)));
        if open.is_empty() {
            length = place + 1;
        }
    }
    length
}

/// Returns the calls of `range` that will never be answered: unanswered calls of older invocations, except those of
/// long-running tools. A question to a person in an older invocation is treated as abandoned.
fn dead_calls<'a>(range: &'a [Arc<Event>], all: &[&'a Arc<Event>]) -> Ids<'a> {
    let newest = all.iter().rev().find(|event| !event.invocation_id().is_empty() && !is_summary(event));
    let newest = newest.map(|event| event.invocation_id());
    let (mut kept, mut answered) = (Ids::default(), Ids::default());
    for event in all {
        let current = event.invocation_id().is_empty() || Some(event.invocation_id()) == newest;
        let questions: Ids<'_> = match current {
            true => Ids::default(),
            false => event.function_calls().filter(|call| is_question(call.name.as_deref())).filter_map(id).collect(),
        };
        let long_running = event.long_running_tool_ids().into_iter().flatten().map(String::as_str);
        kept.extend(long_running.filter(|id| !questions.contains(id)));
        if current {
            kept.extend(requests(event));
        }
        let asked: Ids<'_> = requests(event).collect();
        answered.extend(answers(event).filter(|id| !asked.contains(id)));
    }
    let older = range.iter().filter(|event| newest.is_none_or(|newest| event.invocation_id() != newest));
    older.flat_map(|event| calls(event)).filter(|id| !kept.contains(id) && !answered.contains(id)).collect()
}

fn is_summary(event: &Event) -> bool {
    event.actions().compaction().is_some()
}

fn is_question(name: Option<&str>) -> bool {
    matches!(name, Some(REQUEST_INPUT | REQUEST_CREDENTIAL | REQUEST_CONFIRMATION))
}

fn id(call: &pleach_core::FunctionCall) -> Option<&str> {
    call.id.as_deref().filter(|id| !id.is_empty())
}

fn calls(event: &Event) -> impl Iterator<Item = &str> {
    event.function_calls().filter_map(id)
}

fn answers(event: &Event) -> impl Iterator<Item = &str> {
    event.function_responses().filter_map(|answer| answer.id.as_deref()).filter(|id| !id.is_empty())
}

/// Returns the ids of the calls for which the event requests a confirmation or credential.
fn requests(event: &Event) -> impl Iterator<Item = &str> {
    let actions = event.actions();
    actions.requested_tool_confirmations().keys().chain(actions.requested_auth_configs().keys()).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, FunctionCall, FunctionResponse, Map, Part};

    use super::*;

    /// Events as `invocation:+id` (a call), `invocation:-id` (its answer) or `invocation:.` (text).
    fn events(log: &str) -> Vec<Arc<Event>> {
        let event = |word: &str| {
            let (invocation, what) = word.split_once(':').unwrap();
            let part = match what.split_at(1) {
                ("+", id) => Part::function_call(FunctionCall::new(id, "tool", Map::new())),
                ("-", id) => Part::function_response(FunctionResponse::new(id, "tool", Map::new())),
                _ => Part::text("text"),
            };
            let mut event = Event::from_author("node").with_content(Content::new("model", [part]));
            event.set_invocation_id(invocation);
            Arc::new(event)
        };
        log.split_whitespace().map(event).collect()
    }

    #[test]
    fn r1150_a_summary_never_separates_a_call_from_its_answer() {
        for (rule, log, length) in [
            ("no calls", "i:. i:. i:.", 3),
            ("an answered call", "i:+a i:-a i:.", 3),
            ("an open call of the newest invocation", "i:. i:+a i:.", 1),
            ("two calls, one open", "i:+a i:+b i:-a", 0),
            ("an open call at the end of an older invocation is left to a later summary", "i:. i:+a j:.", 3),
        ] {
            let events = events(log);
            assert_eq!(self_contained(&events, &events.iter().collect::<Vec<_>>()), length, "{rule}");
        }
    }

    #[test]
    fn r1150_a_retained_tail_has_the_calls_of_its_answers() {
        for (log, split, expected) in
            [("i:. i:. i:.", 2, 2), ("i:. i:+a i:-a", 2, 1), ("i:+a i:. i:-a", 1, 0), ("i:+a i:-a i:.", 2, 2)]
        {
            assert_eq!(safe_split(&events(log), split), expected, "{log}");
        }
    }
}
