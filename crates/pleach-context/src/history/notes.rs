//! The notes that pleach records in addition to google-adk's data: completed runs, caught failures, and routes that a
//! later event carries.
//!
//! All notes are in an event's `custom_metadata`, under reserved keys.

use pleach_core::{Event, Map, NodePath, Route};
use pleach_session::notes::{
    CAUGHT_FAILURES, COMPLETED_RUNS, DELEGATED_RUNS, LOOP_ROUNDS, PENDING_ROUTE, REPORTED_ERROR, TASK_RESPONSE,
    engine_note,
};
use serde_json::{Value, json};
use smol_str::SmolStr;

use crate::{ChildFailure, NodeError};

/// Marks the runs that have completed, in order.
///
/// A run without a result leaves no event, so without this mark it would run again on every resume.
// R1011
pub fn mark_completed(event: &mut Event, runs: &[NodePath]) {
    append(event, COMPLETED_RUNS, runs.iter().map(|run| Value::from(run.as_str())));
}

/// Marks the first event of a sub-agent with the rounds of the loops around it.
// L178
pub(crate) fn mark_rounds(event: &mut Event, rounds: &[(SmolStr, u32)]) {
    mark(event, LOOP_ROUNDS, rounds.iter().map(|(agent, round)| (agent.to_string(), Value::from(*round))).collect());
}

/// Marks the event that an agent stores in the user's name: the response of a task that it has delegated.
// L190
pub fn mark_task_response(event: &mut Event, caller: &str) {
    mark(event, TASK_RESPONSE, Value::from(caller));
}

/// Returns the agent that delegated the task, if the event is the response of a task.
#[must_use]
pub fn caller_of_task(event: &Event) -> Option<&str> {
    engine_note(event, TASK_RESPONSE)?.as_str()
}

/// Returns the round of the loop `agent`, if this event is the first one of the loop's sub-agent in that round.
pub fn round_of(agent: &str, event: &Event) -> Option<u32> {
    engine_note(event, LOOP_ROUNDS)?.get(agent)?.as_u64()?.try_into().ok()
}

/// Records of an invocation that have no event of their own. The next event carries them.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    completed: Vec<NodePath>,
    delegations: Vec<Value>,
    failures: Vec<Value>,
}

impl Notes {
    /// Adds a run that has completed without an output and has already left its last event.
    pub(crate) fn completed(&mut self, run: NodePath) {
        self.completed.push(run);
    }

    /// Adds a completed run whose output event is a child's. `output` is the run's own output if it differs from the
    /// child's.
    pub(crate) fn delegated(&mut self, run: &NodePath, output: Option<Value>) {
        let mut note = json!({ "run": run.as_str() });
        if let Some(output) = output {
            note["output"] = output;
        }
        self.delegations.push(note);
    }

    /// Adds a failure of a child after which the caller continued.
    pub(crate) fn caught(&mut self, run: &NodePath, failure: &ChildFailure) {
        let paths = [("run", run), ("node", &failure.path)];
        let mut note: Map = paths.iter().map(|(key, path)| ((*key).to_owned(), Value::from(path.as_str()))).collect();
        failure.error.describe(&mut note);
        self.failures.push(Value::Object(note));
    }

    /// Moves everything onto an event.
    pub(crate) fn write(self, event: &mut Event) {
        mark_completed(event, &self.completed);
        append(event, DELEGATED_RUNS, self.delegations);
        append(event, CAUGHT_FAILURES, self.failures);
    }
}

fn list<'a>(event: &'a Event, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    engine_note(event, key).and_then(Value::as_array).into_iter().flatten()
}

fn path(note: &Value, key: &str) -> Option<NodePath> {
    note.get(key)?.as_str().map(NodePath::from).filter(|path| !path.is_root())
}

/// Returns the runs that the event records as completed after a delegate, each with its own output if that differs
/// from the delegate's.
pub(super) fn delegations(event: &Event) -> impl Iterator<Item = (NodePath, Option<&Value>)> {
    list(event, DELEGATED_RUNS).filter_map(|note| Some((path(note, "run")?, note.get("output"))))
}

/// Returns the failed runs that the event records as caught.
pub(super) fn caught_failures(event: &Event) -> impl Iterator<Item = (NodePath, ChildFailure)> {
    list(event, CAUGHT_FAILURES).filter_map(|note| {
        let error = NodeError::from_note(note)?;
        Some((path(note, "run")?, ChildFailure { error, path: path(note, "node")? }))
    })
}

/// Returns the runs that the event records as completed, in order.
pub fn completed_runs(event: &Event) -> impl Iterator<Item = NodePath> {
    list(event, COMPLETED_RUNS).filter_map(|run| run.as_str().map(NodePath::from))
}

/// Marks the route that the run's next event carries, so that a run interrupted in between keeps it.
pub(crate) fn mark_pending_route(event: &mut Event, route: &Route) {
    if let Ok(route) = serde_json::to_value(route) {
        mark(event, PENDING_ROUTE, route);
    }
}

/// Returns the route that was to follow the event.
pub(super) fn pending_route(event: &Event) -> Option<Route> {
    serde_json::from_value(engine_note(event, PENDING_ROUTE)?.clone()).ok()
}

/// Marks an error event that the body sent itself: the attempt continues after it.
pub fn mark_reported(event: &mut Event) {
    mark(event, REPORTED_ERROR, Value::Bool(true));
}

/// Returns `true` if the body continued after sending this error event.
#[must_use]
pub fn is_reported(event: &Event) -> bool {
    engine_note(event, REPORTED_ERROR).is_some()
}

/// Returns `true` if the event ends a failed attempt of its run.
pub(super) fn ends_attempt(event: &Event) -> bool {
    event.error_code().is_some() && !event.is_partial() && !is_reported(event)
}

fn append(event: &mut Event, key: &str, notes: impl IntoIterator<Item = Value>) {
    let mut notes = notes.into_iter().peekable();
    if notes.peek().is_some() {
        let known: Vec<Value> = list(event, key).cloned().collect();
        mark(event, key, known.into_iter().chain(notes).collect());
    }
}

pub(crate) fn mark(event: &mut Event, key: &str, value: Value) {
    let mut metadata = event.custom_metadata().cloned().unwrap_or_else(Map::new);
    metadata.insert(key.to_owned(), value);
    event.set_custom_metadata(Some(metadata));
}
