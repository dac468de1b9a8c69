//! Changing an event by what a plugin returns: only what the returned event sets.
// R1110

use pleach_core::{Event, EventActions};

/// Puts what `over` sets onto `event`. Id, invocation and time stay; so does an author that `over` leaves empty.
pub(crate) fn overlay(event: &mut Event, mut over: Event) {
    if !over.author().is_empty() {
        event.set_author(over.author().to_owned());
    }
    if let Some(content) = over.take_content() {
        event.set_content(Some(*content));
    }
    if let Some(output) = over.take_output() {
        event.set_output(Some(output));
    }
    if let Some(partial) = over.partial() {
        event.set_partial(Some(partial));
    }
    if let Some(branch) = over.branch() {
        event.set_branch(Some(branch.clone()));
    }
    if let Some(ids) = over.long_running_tool_ids() {
        event.set_long_running_tool_ids(Some(ids.clone()));
    }
    if let Some(code) = over.error_code() {
        event.set_error_code(Some(code.to_owned()));
    }
    if let Some(message) = over.error_message() {
        event.set_error_message(Some(message.to_owned()));
    }
    if let Some(metadata) = over.custom_metadata() {
        let mut metadata = metadata.clone();
        // What the engine noted is not the plugin's to drop.
        let noted = event.custom_metadata().into_iter().flatten().filter(|(key, _)| key.starts_with("_adk"));
        for (key, value) in noted {
            metadata.entry(key.clone()).or_insert_with(|| value.clone());
        }
        event.set_custom_metadata(Some(metadata));
    }
    if let Some(complete) = over.turn_complete() {
        event.set_turn_complete(Some(complete));
    }
    if !over.path().is_root() {
        event.set_path(over.path().clone());
    }
    if *over.actions() != EventActions::default() {
        event.set_actions(over.actions().clone());
    }
    if let Some(model) = over.model() {
        *event.model_mut() = model.clone();
    }
}
