//! The keys of `custom_metadata` that the runtime writes and reads, in one list, and the text that replaces redacted
//! values.

use pleach_core::{Event, KEPT_SIGNAL};
use serde_json::Value;

pub use pleach_core::engine_notes::{
    AGENT_CALLBACK, CAUGHT_FAILURES, COMPLETED_RUNS, DELEGATED_RUNS, ENDED_BY_PLUGIN, LOOP_ROUNDS, PENDING_ROUTE,
    REPORTED_ERROR, TASK_RESPONSE, TRIED_AGAIN, engine_note, is_engine_note,
};

/// Names the session that was copied, on each event of the copy: `{"pleach_forked_from": "<session id>"}`.
pub const FORKED_FROM: &str = "pleach_forked_from";

/// Marks an event of a resume that continues a copied session: `{"pleach_fork_continued": true}`.
pub const FORK_CONTINUED: &str = "pleach_fork_continued";

/// Marks the answer that a question got at its deadline, without a person: `{"pleach_by_deadline": true}`.
pub const BY_DEADLINE: &str = "pleach_by_deadline";

/// Marks the event with which a recovery resumes an invocation: `{"pleach_recovery": {"attempt": 2}}`. The attempts are
/// counted since the invocation last made progress.
pub const RECOVERY: &str = "pleach_recovery";

/// Marks the last event of a run whose end the log does not show otherwise: `{"pleach_run_ended": "done"}`, `"waiting"` if the invocation
/// waits for answers, `"cut"` if the run was cut off, or `{"failed": {"code": "…", "message": "…"}}`.
pub const RUN_ENDED: &str = "pleach_run_ended";

/// The text that replaces a removed value.
pub const REDACTED: &str = "[redacted]";

/// Names the first event that a rewind to before a node run undoes: `{"pleach_rewind_before_event": "<id>"}`.
pub const REWIND_BEFORE_EVENT: &str = "pleach_rewind_before_event";

/// Lists the redactions of the event: `{"pleach_redactions": [{"paths": [...], "reason": "...", "at": ...}]}`.
/// `"state"` lists the keys of the state delta whose values the redaction changed.
pub const REDACTIONS: &str = "pleach_redactions";

/// Lists the values of the event that are kept as artifacts: `{"pleach_payloads": {"taken": [...]}}`.
pub const PAYLOADS: &str = "pleach_payloads";

/// The name of the step that takes a signal. Its output is `{"event": "<the event that keeps the signal>", "name": "paid", "payload": …}`.
pub const TAKE_SIGNAL: &str = "pleach_signal";

const OTHERS: [&str; 9] = [
    BY_DEADLINE,
    KEPT_SIGNAL,
    FORKED_FROM,
    FORK_CONTINUED,
    RECOVERY,
    REWIND_BEFORE_EVENT,
    REDACTIONS,
    PAYLOADS,
    RUN_ENDED,
];

/// Returns `true` if the runtime reads metadata under this key, so that clients must not set it.
#[must_use]
pub fn is_note(key: &str) -> bool {
    OTHERS.contains(&key) || is_engine_note(key)
}

/// Returns `true` if the event only notes how an invocation is run: a recovery, the end of a run, or the first run of a copy. It
/// comes from no node and from no person.
#[must_use]
pub fn is_run_note(event: &Event) -> bool {
    let notes = [RECOVERY, RUN_ENDED, FORK_CONTINUED];
    event.is_from_user()
        && event.content().is_none()
        && event.custom_metadata().is_some_and(|metadata| notes.iter().any(|note| metadata.contains_key(*note)))
}

/// Returns `true` if the event records completed runs.
#[must_use]
pub fn notes_completed_runs(event: &Event) -> bool {
    engine_note(event, COMPLETED_RUNS).is_some()
}

/// Returns `true` if the error event was to be followed by another attempt, so that it did not end its invocation.
#[must_use]
pub fn is_tried_again(event: &Event) -> bool {
    engine_note(event, TRIED_AGAIN).is_some()
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
