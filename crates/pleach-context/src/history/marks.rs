//! What resumable apps record beside google-adk's events: which runs have completed, and that a route follows.
//!
//! Both stand in an event's `custom_metadata` under keys of the prefix that ADK keeps for itself, so that no reader of
//! traces takes them for the user's.

use pleach_core::{Event, Map, NodePath, Route};
use serde_json::Value;

/// The runs that have completed since the last such event, in order: `{"_adk_completed_runs": ["wf@1/node@2"]}`.
const COMPLETED_RUNS: &str = "_adk_completed_runs";

/// Those of them that gave something of which no event tells, the answer to a child's question for example: they have to
/// run again to give it again.
const UNTOLD_RUNS: &str = "_adk_untold_runs";

/// The route that the event's run has set and that comes with its next event: `{"_adk_pending_route": "left"}`.
const PENDING_ROUTE: &str = "_adk_pending_route";

/// A run that has completed. For engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedRun {
    /// The run.
    pub path: NodePath,
    /// Whether events tell what it gave; a run that gave nothing needs none.
    pub told: bool,
}

/// Says which runs have completed, in order. For engines.
///
/// A run that gives nothing leaves no event, so without this it would run again on every resume (R1011).
pub fn mark_completed(event: &mut Event, runs: &[CompletedRun]) {
    let paths = |told_too: bool| -> Vec<Value> {
        let runs = runs.iter().filter(|run| told_too || !run.told);
        runs.map(|run| Value::from(run.path.as_str())).collect()
    };
    for (key, paths) in [(COMPLETED_RUNS, paths(true)), (UNTOLD_RUNS, paths(false))] {
        if !paths.is_empty() {
            mark(event, key, Value::Array(paths));
        }
    }
}

/// The runs that the event says to have completed.
pub(super) fn completed_runs(event: &Event) -> Vec<CompletedRun> {
    let list = |key: &str| event.custom_metadata().and_then(|metadata| metadata.get(key)).and_then(Value::as_array);
    let Some(runs) = list(COMPLETED_RUNS) else { return Vec::new() };
    let untold = list(UNTOLD_RUNS).map(Vec::as_slice).unwrap_or_default();
    let run = |run: &Value| Some(CompletedRun { path: NodePath::from(run.as_str()?), told: !untold.contains(run) });
    runs.iter().filter_map(run).collect()
}

/// Says which route comes with the run's next event: a run that is cut off in between keeps it.
pub(crate) fn mark_pending_route(event: &mut Event, route: &Route) {
    if let Ok(route) = serde_json::to_value(route) {
        mark(event, PENDING_ROUTE, route);
    }
}

/// The route that was to follow the event.
pub(super) fn pending_route(event: &Event) -> Option<Route> {
    serde_json::from_value(event.custom_metadata()?.get(PENDING_ROUTE)?.clone()).ok()
}

fn mark(event: &mut Event, key: &str, value: Value) {
    let mut metadata = event.custom_metadata().cloned().unwrap_or_else(Map::new);
    metadata.insert(key.to_owned(), value);
    event.set_custom_metadata(Some(metadata));
}
