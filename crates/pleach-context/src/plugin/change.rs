//! Merges the event that a plugin returns into the original event: only the fields that the returned event sets.
// R1110

use pleach_core::{Event, EventActions, is_reserved_metadata_key};

/// Sets on `event` the fields that `change` sets. Id, invocation and time stay. The author stays if `change` has none.
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
        // A plugin must not drop or change the notes of the runtime and of other plugins.
        let noted = event.custom_metadata().into_iter().flatten().filter(|(key, _)| is_reserved_metadata_key(key));
        for (key, value) in noted {
            metadata.insert(key.clone(), value.clone());
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

#[cfg(test)]
mod tests {
    use pleach_core::{Content, Map};
    use serde_json::json;

    use super::*;

    fn event() -> Event {
        let mut event =
            Event::from_author("node").with_output(1).with_state("k", 1).with_content(Content::model("old"));
        event.set_id("id");
        event.set_invocation_id("i");
        event.set_timestamp(5.0);
        event.set_custom_metadata(Some(Map::from_iter([
            ("_adk_note".to_owned(), json!(1)),
            ("own".to_owned(), json!(1)),
        ])));
        event
    }

    fn changed(change: Event) -> Event {
        let mut event = event();
        apply_plugin_change(&mut event, change);
        event
    }

    #[test]
    fn r1110_only_the_fields_that_a_plugin_sets_are_replaced() {
        assert_eq!(changed(Event::new()), event());
        let output = changed(Event::of(2));
        assert_eq!((output.output(), output.author(), output.text()), (Some(&json!(2)), "node", "old".to_owned()));
        let state = changed(Event::new().with_state("other", 2));
        assert_eq!(state.actions().state_delta().keys().collect::<Vec<_>>(), ["other"]);
        assert_eq!(changed(Event::from_author("plugin")).author(), "plugin");
    }

    #[test]
    fn r1110_id_invocation_and_time_stay() {
        let mut change = Event::new();
        change.set_id("other");
        change.set_invocation_id("other");
        change.set_timestamp(9.0);
        let event = changed(change);
        assert_eq!(event.id().to_string(), "id");
        assert_eq!((event.invocation_id().as_str(), event.timestamp()), ("i", 5.0));
    }

    #[test]
    fn r1110_new_metadata_keeps_the_notes_of_the_engine() {
        let metadata = Map::from_iter([("new".to_owned(), json!(2)), ("_adk_note".to_owned(), json!(7))]);
        let event = changed(Event::new().with_custom_metadata(metadata));
        let expected = json!({"new": 2, "_adk_note": 1});
        assert_eq!(serde_json::to_value(event.custom_metadata()).unwrap(), expected);
    }
}
