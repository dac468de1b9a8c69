//! The task that an agent works on over several turns of the user.
// R1210

use std::collections::HashSet;
use std::sync::Arc;

use pleach_core::{Event, FunctionResponse, InvocationId};
use pleach_session::{ends_aborted, newest_effective_events};
use serde_json::Value;

/// A task whose agent waits for the user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenTask {
    /// The isolation scope of its conversation.
    pub(crate) scope: Arc<str>,
    pub(crate) invocation: InvocationId,
}

/// The function by which an agent ends its task.
const FINISH_TASK: &str = "finish_task";

/// Returns the newest task of a session that is neither finished nor aborted.
pub(crate) fn open_task(events: &[Arc<Event>]) -> Option<OpenTask> {
    // Most sessions have none.
    events.iter().rev().find(|event| event.isolation_scope().is_some())?;
    let live: Vec<&Arc<Event>> = newest_effective_events(events).collect();
    let finished: HashSet<&str> = live
        .iter()
        .filter(|event| event.function_responses().any(is_end))
        .filter_map(|event| event.isolation_scope())
        .collect();
    let aborted: HashSet<&str> =
        live.iter().filter(|event| ends_aborted(event)).map(|event| event.invocation_id().as_str()).collect();
    live.iter().filter(|event| event.actions().compaction().is_none()).find_map(|event| {
        let scope = event.isolation_scope()?;
        let is_over = finished.contains(scope) || aborted.contains(event.invocation_id().as_str());
        (!is_over).then(|| OpenTask { scope: scope.into(), invocation: event.invocation_id().clone() })
    })
}

/// Returns whether a response ends a task; one with an error does not.
fn is_end(response: &FunctionResponse) -> bool {
    let result = response.response.as_ref().and_then(|response| response.get("result")).and_then(Value::as_str);
    response.name.as_deref() == Some(FINISH_TASK) && matches!(result, Some("Task completed." | "Task failed."))
}
