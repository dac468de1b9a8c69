//! The keys of `custom_metadata` that the runtime writes and reads, one list for all that must know them, and the text of redacted values.

use pleach_core::{Event, KEPT_SIGNAL};
use serde_json::Value;

/// The session that a copy was made of, on the copied events: `{"pleach_forked_from": "<session id>"}`.
pub const FORKED_FROM: &str = "pleach_forked_from";

/// A resume continues the copy of a session: `{"pleach_fork_continued": true}`.
pub const FORK_CONTINUED: &str = "pleach_fork_continued";

/// The event is the answer of a deadline, which no person has given: `{"pleach_by_deadline": true}`.
pub const BY_DEADLINE: &str = "pleach_by_deadline";

/// The text in the place of a value that was removed.
pub const REDACTED: &str = "[redacted]";

/// The runs that have completed since the last such event, in order: `{"_adk_completed_runs": ["wf@1/node@2"]}`.
pub const COMPLETED_RUNS: &str = "_adk_completed_runs";

/// The runs that have completed and whose output event is a child's: `[{"run": "wf@1/node@2"}]`, with `"output"` where the
/// run gave another value than that child.
pub const DELEGATED_RUNS: &str = "_adk_delegated_runs";

/// The failures of children that their callers have caught and gone past:
/// `[{"run": "wf@1/a@1/b@1", "node": "wf@1/a@1/b@1", "code": "ValueError", "message": "…"}]`, with `"class"`,
/// `"ancestors"` and `"type"` where the code does not imply them. The causes of the error are not recorded.
pub const CAUGHT_FAILURES: &str = "_adk_caught_failures";

/// The route that the event's run has set and that comes with its next event: `{"_adk_pending_route": "left"}`.
pub const PENDING_ROUTE: &str = "_adk_pending_route";

/// The event reports an error, and its run continues: `{"_adk_reported_error": true}`.
pub const REPORTED_ERROR: &str = "_adk_reported_error";

/// The error event is that of an attempt which another one follows: `{"_adk_tried_again": true}`.
pub const TRIED_AGAIN: &str = "_adk_tried_again";

/// The event holds what a callback around an agent has given: `{"_adk_agent_callback": "before"}`, or `"after"`.
pub const AGENT_CALLBACK: &str = "_adk_agent_callback";

/// The loops within whose rounds the event is the first of a sub-agent: `{"_adk_loop_rounds": {"polish": 1}}`.
pub const LOOP_ROUNDS: &str = "_adk_loop_rounds";

/// The event is what a task has given, and no message of the user, in whose name it is: `{"_adk_task_response": "caller"}`.
pub const TASK_RESPONSE: &str = "_adk_task_response";

/// The event ends an invocation that a plugin's `before_run` hook answered: `{"_adk_ended_by_plugin": true}`.
pub const ENDED_BY_PLUGIN: &str = "_adk_ended_by_plugin";

/// The first event which a rewind to before a node run undoes: `{"pleach_rewind_before_event": "<id>"}`.
pub const REWIND_BEFORE_EVENT: &str = "pleach_rewind_before_event";

/// What was removed from the event: `{"pleach_redactions": [{"paths": [...], "reason": "...", "at": ...}]}`, with `"state"`, a list of
/// the keys of the state delta whose values are not the ones that were set.
pub const REDACTIONS: &str = "pleach_redactions";

/// Which values of the event are kept as artifacts: `{"pleach_payloads": {"taken": [...]}}`.
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

/// Returns whether the runtime reads metadata under this key: a client must not set it.
#[must_use]
pub fn is_note(key: &str) -> bool {
    ALL.contains(&key)
}

/// Returns whether the event notes completed runs.
#[must_use]
pub fn notes_completed_runs(event: &Event) -> bool {
    has_note(event, COMPLETED_RUNS)
}

/// Returns whether another attempt was to follow the error event: its invocation has not ended with it.
#[must_use]
pub fn is_tried_again(event: &Event) -> bool {
    has_note(event, TRIED_AGAIN)
}

fn has_note(event: &Event, key: &str) -> bool {
    event.custom_metadata().is_some_and(|metadata| metadata.contains_key(key))
}

/// Returns whether a redaction has removed the value that an event set for a key of the state, or a part of it. The delta then says
/// that the key was set, and not to what.
#[must_use]
pub fn is_state_redacted(event: &Event, key: &str) -> bool {
    let redactions = event.custom_metadata().and_then(|metadata| metadata.get(REDACTIONS)).and_then(Value::as_array);
    let keys = redactions.into_iter().flatten().filter_map(|redaction| redaction.get("state")?.as_array());
    keys.flatten().any(|redacted| redacted == key)
}

/// Returns when a value of the event was redacted last, in seconds since the epoch.
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
    fn records_name_the_redacted_keys_of_the_state() {
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
