//! Merges the event that a plugin returns into the original: only fields that the returned event sets.
// R1110

use pleach_core::{Event, EventActions};

/// Sets on `event` the fields that `change` sets. Id, invocation and time stay, and so does the author if `change` has none.
pub(crate) fn apply_plugin_change(event: &mut Event, mut change: Event) {
    if !change.author().is_empty() {
        event.set_author(change.author().to_owned());
    }
    if let Some(content) = change.take_content() {
        event.set_content(Some(*content));
    }
    if let Some(output) = change.take_output() {
        event.set_output(Some(output));
    }
    if let Some(partial) = change.partial() {
        event.set_partial(Some(partial));
    }
    if let Some(branch) = change.branch() {
        event.set_branch(Some(branch.clone()));
    }
    if let Some(ids) = change.long_running_tool_ids() {
        event.set_long_running_tool_ids(Some(ids.clone()));
    }
    if let Some(code) = change.error_code() {
        event.set_error_code(Some(code.to_owned()));
    }
    if let Some(message) = change.error_message() {
        event.set_error_message(Some(message.to_owned()));
    }
    if let Some(metadata) = change.custom_metadata() {
        let mut metadata = metadata.clone();
        // A plugin must not drop the engine's notes.
        let noted = event.custom_metadata().into_iter().flatten().filter(|(key, _)| key.starts_with("_adk"));
        for (key, value) in noted {
            metadata.entry(key.clone()).or_insert_with(|| value.clone());
        }
        event.set_custom_metadata(Some(metadata));
    }
    if let Some(complete) = change.turn_complete() {
        event.set_turn_complete(Some(complete));
    }
    if !change.path().is_root() {
        event.set_path(change.path().clone());
    }
    if *change.actions() != EventActions::default() {
        event.set_actions(change.actions().clone());
    }
    if let Some(model) = change.model() {
        *event.model_mut() = model.clone();
    }
}
