//! The notes that the engine writes to the `custom_metadata` of events, and reads when it resumes an invocation.
//!
//! Their keys begin with `pleach_`. Events of early databases have them under `_adk_`, a prefix that google-adk uses itself;
//! [`engine_note`] reads both.

use serde_json::Value;

use crate::Event;

/// Lists the runs that completed since the last event with this key, in order: `{"pleach_completed_runs":
/// ["wf@1/node@2"]}`.
pub const COMPLETED_RUNS: &str = "pleach_completed_runs";

/// Lists the completed runs whose output event belongs to a child: `[{"run": "wf@1/node@2"}]`, with `"output"` if
/// the run's output differs from the child's.
pub const DELEGATED_RUNS: &str = "pleach_delegated_runs";

/// Lists the failures of children that their callers caught before they continued:
/// `[{"run": "wf@1/a@1/b@1", "node": "wf@1/a@1/b@1", "code": "ValueError", "message": "…"}]`, with `"class"`,
/// `"ancestors"` and `"type"` where the code does not imply them. The causes of the error are not recorded.
pub const CAUGHT_FAILURES: &str = "pleach_caught_failures";

/// Holds the route that the event's run has set and that the run's next event carries: `{"pleach_pending_route":
/// "left"}`.
pub const PENDING_ROUTE: &str = "pleach_pending_route";

/// Marks an event that reports an error although its run continues: `{"pleach_reported_error": true}`.
pub const REPORTED_ERROR: &str = "pleach_reported_error";

/// Marks an event that reports the error of an attempt that another attempt follows: `{"pleach_tried_again": true}`.
pub const TRIED_AGAIN: &str = "pleach_tried_again";

/// Marks an event that holds the result of an agent callback: `{"pleach_agent_callback": "before"}`, or `"after"`.
pub const AGENT_CALLBACK: &str = "pleach_agent_callback";

/// Holds the round of each loop by name, on the first event of a loop's sub-agent: `{"pleach_loop_rounds": {"polish":
/// 1}}`.
pub const LOOP_ROUNDS: &str = "pleach_loop_rounds";

/// Marks an event whose author is the user, but which holds the result of a task: `{"pleach_task_response":
/// "caller"}`.
pub const TASK_RESPONSE: &str = "pleach_task_response";

/// Marks the event that ends an invocation because a plugin's `before_run` hook answered: `{"pleach_ended_by_plugin":
/// true}`.
pub const ENDED_BY_PLUGIN: &str = "pleach_ended_by_plugin";

/// The prefix of the keys.
const PREFIX: &str = "pleach_";

/// The prefix of the keys in early databases.
const EARLY_PREFIX: &str = "_adk_";

const ALL: [&str; 10] = [
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
];

/// Returns the value of a note on an event, also from an early database.
#[must_use]
pub fn engine_note<'a>(event: &'a Event, key: &str) -> Option<&'a Value> {
    let metadata = event.custom_metadata()?;
    metadata.get(key).or_else(|| {
        let is_early = |early: &&String| current_key(early) == Some(key);
        metadata.keys().find(is_early).and_then(|early| metadata.get(early))
    })
}

/// Returns `true` if a metadata key is a note of the engine, also in the spelling of early databases.
#[must_use]
pub fn is_engine_note(key: &str) -> bool {
    current_key(key).is_some()
}

/// Returns the current key of a note of the engine.
#[must_use]
pub fn current_key(key: &str) -> Option<&'static str> {
    let name = key.strip_prefix(PREFIX).or_else(|| key.strip_prefix(EARLY_PREFIX))?;
    ALL.into_iter().find(|current| current.strip_prefix(PREFIX) == Some(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Map;

    #[test]
    fn a_note_is_read_in_both_spellings() {
        for key in ["pleach_loop_rounds", "_adk_loop_rounds"] {
            let metadata = Map::from_iter([("own".to_owned(), json!(1)), (key.to_owned(), json!({"polish": 1}))]);
            let event = Event::from_author("a").with_custom_metadata(metadata);
            assert_eq!(engine_note(&event, LOOP_ROUNDS), Some(&json!({"polish": 1})), "{key}");
            assert_eq!(engine_note(&event, TRIED_AGAIN), None, "{key}");
        }
    }

    #[test]
    fn other_keys_are_not_notes_of_the_engine() {
        for (key, expected) in [
            ("pleach_tried_again", true),
            ("_adk_tried_again", true),
            ("tried_again", false),
            ("adk_tried_again", false),
            ("_pleach_tried_again", false),
            ("pleach_tried_again_", false),
            ("pleach_signal", false),
        ] {
            assert_eq!(is_engine_note(key), expected, "{key}");
        }
    }
}
