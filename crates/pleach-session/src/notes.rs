//! The keys of `custom_metadata` that the runtime writes and reads, in one list, and the text that replaces redacted
//! values.

use pleach_core::{Event, KEPT_SIGNAL};
use serde_json::Value;

/// Names the session that was copied, on each event of the copy: `{"pleach_forked_from": "<session id>"}`.
pub const FORKED_FROM: &str = "pleach_forked_from";

/// Marks an event of a resume that continues a copied session: `{"pleach_fork_continued": true}`.
pub const FORK_CONTINUED: &str = "pleach_fork_continued";

/// Marks the answer that a question got at its deadline, without a person: `{"pleach_by_deadline": true}`.
pub const BY_DEADLINE: &str = "pleach_by_deadline";

/// The text that replaces a removed value.
pub const REDACTED: &str = "[redacted]";

/// Lists the runs that completed since the last event with this key, in order: `{"_adk_completed_runs":
/// ["wf@1/node@2"]}`.
pub const COMPLETED_RUNS: &str = "_adk_completed_runs";

/// Lists the completed runs whose output event belongs to a child: `[{"run": "wf@1/node@2"}]`, with `"output"` if
/// the run's output differs from the child's.
pub const DELEGATED_RUNS: &str = "_adk_delegated_runs";

/// Lists the failures of children that their callers caught before they continued:
/// `[{"run": "wf@1/a@1/b@1", "node": "wf@1/a@1/b@1", "code": "ValueError", "message": "…"}]`, with `"class"`,
/// `"ancestors"` and `"type"` where the code does not imply them. The causes of the error are not recorded.
pub const CAUGHT_FAILURES: &str = "_adk_caught_failures";

/// Holds the route that the event's run has set and that the run's next event carries: `{"_adk_pending_route":
/// "left"}`.
pub const PENDING_ROUTE: &str = "_adk_pending_route";

/// Marks an event that reports an error although its run continues: `{"_adk_reported_error": true}`.
pub const REPORTED_ERROR: &str = "_adk_reported_error";

/// Marks an event that reports the error of an attempt that another attempt follows: `{"_adk_tried_again": true}`.
pub const TRIED_AGAIN: &str = "_adk_tried_again";

/// Marks an event that holds the result of an agent callback: `{"_adk_agent_callback": "before"}`, or `"after"`.
pub const AGENT_CALLBACK: &str = "_adk_agent_callback";

/// Holds the round of each loop by name, on the first event of a loop's sub-agent: `{"_adk_loop_rounds": {"polish":
/// 1}}`.
pub const LOOP_ROUNDS: &str = "_adk_loop_rounds";

/// Marks an event whose author is the user, but which holds the result of a task: `{"_adk_task_response":
/// "caller"}`.
pub const TASK_RESPONSE: &str = "_adk_task_response";

/// Marks the event that ends an invocation because a plugin's `before_run` hook answered: `{"_adk_ended_by_plugin":
/// true}`.
pub const ENDED_BY_PLUGIN: &str = "_adk_ended_by_plugin";

/// Names the first event that a rewind to before a node run undoes: `{"pleach_rewind_before_event": "<id>"}`.
pub const REWIND_BEFORE_EVENT: &str = "pleach_rewind_before_event";

/// Lists the redactions of the event: `{"pleach_redactions": [{"paths": [...], "reason": "...", "at": ...}]}`.
/// `"state"` lists the keys of the state delta whose values the redaction changed.
pub const REDACTIONS: &str = "pleach_redactions";

/// Lists the values of the event that are kept as artifacts: `{"pleach_payloads": {"taken": [...]}}`.
pub const PAYLOADS: &str = "pleach_payloads";

/// The name of the step that takes a signal. Its output is `{"event": "<the event that keeps the signal>", "name": "paid", "payload": …}`.
pub const TAKE_SIGNAL: &str = "pleach_signal";

const ALL: [&str; 17] = [
    BY_DEADLINE,
    COMPLETED_RUNS,
    DELEGATED_RUNS,
    CAUGHT_FAILURES,
    PENDING_ROUTE,
    REPORTED_ERROR,
    TRIED_AGAIN,
    AGENT_CALLBACK,
    LOOP_ROUNDS,
    TASK_RESPONSE,
    ENDED_BY_PLUGIN,
    KEPT_SIGNAL,
    FORKED_FROM,
    FORK_CONTINUED,
    REWIND_BEFORE_EVENT,
    REDACTIONS,
    PAYLOADS,
];

/// Returns `true` if the runtime reads metadata under this key, so that clients must not set it.
#[must_use]
pub fn is_note(key: &str) -> bool {
    ALL.contains(&key)
}

/// Returns `true` if the event records completed runs.
#[must_use]
pub fn notes_completed_runs(event: &Event) -> bool {
    has_note(event, COMPLETED_RUNS)
}

/// Returns `true` if the error event was to be followed by another attempt, so that it did not end its invocation.
#[must_use]
pub fn is_tried_again(event: &Event) -> bool {
    has_note(event, TRIED_AGAIN)
}

fn has_note(event: &Event, key: &str) -> bool {
    event.custom_metadata().is_some_and(|metadata| metadata.contains_key(key))
}

/// Returns `true` if a redaction removed all or part of the value that an event set for a state key. The delta then
/// shows that the key was set, but not its value.
#[must_use]
pub fn is_state_redacted(event: &Event, key: &str) -> bool {
    let redactions = event.custom_metadata().and_then(|metadata| metadata.get(REDACTIONS)).and_then(Value::as_array);
    let keys = redactions.into_iter().flatten().filter_map(|redaction| redaction.get("state")?.as_array());
    keys.flatten().any(|redacted| redacted == key)
}

/// Returns the time of the last redaction of the event, in seconds since the epoch.
#[must_use]
pub fn redacted_at(event: &Event) -> Option<f64> {
    let redactions = event.custom_metadata()?.get(REDACTIONS)?.as_array()?;
    redactions.iter().filter_map(|redaction| redaction.get("at")?.as_f64()).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use pleach_core::Map;
    use serde_json::json;

    use super::*;

    #[test]
    fn records_name_the_redacted_state_keys() {
        let mut event = Event::from_author("a");
        for (note, expected) in [
            (json!([]), false),
            (json!([{"paths": ["/actions/state_delta/card"]}, 1, {"state": 1}]), false),
            (json!([{"state": ["other"]}]), false),
            (json!([{"paths": ["/output"]}, {"state": ["other", "card"]}]), true),
        ] {
            event.set_custom_metadata(Some(Map::from_iter([(REDACTIONS.to_owned(), note.clone())])));
            assert_eq!(is_state_redacted(&event, "card"), expected, "{note}");
        }
    }
}
