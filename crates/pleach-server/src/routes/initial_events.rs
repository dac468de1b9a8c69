//! Checks and completes the initial events of a new session.
// H33

use pleach_core::{
    Event, EventActions, EventId, IdGen, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT,
    drop_reserved_metadata,
};
use serde_json::Value;

use crate::error::ApiError;

/// The names of the calls with which the framework asks questions. With such calls a client could open questions that
/// no agent has asked.
const RESERVED: &[&str] = &[REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT];
/// The metadata key that marks events as not written by runs of their session.
const RESTORED: &str = "__adk_internal_restored_event";

/// Refuses events with contents that only the framework may write.
///
/// # Errors
/// 400 with the first such event.
pub(super) fn check_initial(events: &[Event]) -> Result<(), ApiError> {
    for (index, event) in events.iter().enumerate() {
        if let Some(what) = reserved(event) {
            let detail = format!("Session initialization event {index} cannot include {what}.");
            return Err(ApiError::bad_request(detail));
        }
    }
    Ok(())
}

fn reserved(event: &Event) -> Option<&'static str> {
    if event.long_running_tool_ids().is_some_and(|ids| !ids.is_empty()) {
        return Some("long-running tool IDs");
    }
    if *event.actions() != EventActions::default() {
        return Some("event actions");
    }
    let calls = event.function_calls().map(|call| call.name.as_deref());
    let responses = event.function_responses().map(|response| response.name.as_deref());
    let mut names = calls.chain(responses).flatten();
    names.any(|name| RESERVED.contains(&name)).then_some("ADK protocol function calls")
}

/// Refuses events of tasks whose agents do not belong to the app: an open task receives the next message, and no agent
/// of the app could continue it.
///
/// # Errors
/// 400 with the first such event.
pub(super) fn check_tasks(events: &[Event], root: &str) -> Result<(), ApiError> {
    let is_foreign = |event: &Event| {
        let first = event.path().segments().next().unwrap_or_default();
        let name = first.rsplit_once('@').map_or(first, |(name, _)| name);
        event.isolation_scope().is_some() && event.author() != "user" && name != root
    };
    let Some(index) = events.iter().position(is_foreign) else { return Ok(()) };
    Err(ApiError::bad_request(format!(
        "Session initialization event {index} has an isolation scope, and its node path does not begin at '{root}', the root of the app."
    )))
}

/// Completes an event: removes metadata of the framework, adds the mark, and sets an id if there is none.
pub(super) fn restored(mut event: Event, ids: &dyn IdGen) -> Event {
    if event.id().is_empty() {
        event.set_id(EventId::from(ids.uuid()));
    }
    let mut metadata = event.custom_metadata().cloned().unwrap_or_default();
    drop_reserved_metadata(&mut metadata);
    metadata.insert(RESTORED.to_owned(), Value::Bool(true));
    event.with_custom_metadata(metadata)
}
