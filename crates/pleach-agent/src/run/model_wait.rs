//! Shows those who follow a run that it waits for its model.

use pleach_context::engine::RunHandle;
use pleach_core::{Event, EventId, Map};
use pleach_model::ModelWait;
use pleach_session::MODEL_WAIT;
use serde_json::json;

/// Shows a wait of a model's client to those who follow the run. The answer, once it comes, is the event `answer`.
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
