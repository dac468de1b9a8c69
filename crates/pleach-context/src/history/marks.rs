//! What resumable apps record beside google-adk's events: which runs have completed, and that a route follows.
//!
//! Both stand in an event's `custom_metadata` under keys of the prefix that ADK keeps for itself, so that no reader of
//! traces takes them for the user's.

use pleach_core::{Event, Map, NodePath, Route};
use serde_json::Value;

/// The runs that have completed since the last such event, in order: `{"_adk_completed_runs": ["wf@1/node@2"]}`.
const COMPLETED_RUNS: &str = "_adk_completed_runs";

/// The route that the event's run has set and that comes with its next event: `{"_adk_pending_route": "left"}`.
const PENDING_ROUTE: &str = "_adk_pending_route";

/// Says which runs have completed, in order. For engines.
///
/// A run that gives nothing leaves no event, so without this it would run again on every resume (R1011).
pub fn mark_completed(event: &mut Event, runs: &[NodePath]) {
    if !runs.is_empty() {
        mark(event, COMPLETED_RUNS, runs.iter().map(NodePath::as_str).collect());
    }
}

/// The runs that the event says to have completed.
pub(super) fn completed_runs(event: &Event) -> impl Iterator<Item = NodePath> {
    let runs = event.custom_metadata().and_then(|metadata| metadata.get(COMPLETED_RUNS));
    let runs = runs.and_then(Value::as_array).into_iter().flatten();
    runs.filter_map(|run| run.as_str().map(NodePath::from))
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
