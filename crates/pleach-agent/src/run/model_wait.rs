//! Shows the followers of a run that it waits for its model.

use pleach_context::engine::RunHandle;
use pleach_core::{Event, EventId, Map};
use pleach_model::ModelWait;
use pleach_session::MODEL_WAIT;
use serde_json::json;

/// Shows the followers of the run that the client of the model waits before its next attempt. `answer` is the id of the
/// event that the answer will become.
pub(super) fn show_wait(agent: &str, answer: &EventId, handle: &RunHandle, wait: &ModelWait<'_>) {
    let ModelWait { model, error, wait, attempts } = wait;
    let note = json!({
        "model": model, "code": error.code(), "status": error.status(), "seconds": wait.as_secs_f64(), "attempt": attempts,
    });
    let event = Event::from_author(agent).with_partial(true).with_node_path(handle.node_path().clone());
    let mut event = event.with_custom_metadata(Map::from_iter([(MODEL_WAIT.to_owned(), note)]));
    event.set_id(answer.clone());
    event.set_invocation_id(handle.invocation().invocation_id().clone());
    event.set_branch(handle.branch());
    handle.invocation().show_followers(event);
}
