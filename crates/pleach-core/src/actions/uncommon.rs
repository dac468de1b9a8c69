//! The actions that few events set.

use std::collections::BTreeMap;

use serde_json::{Error, Value};

use crate::json::json_object;
use crate::{AuthConfig, EventCompaction, Map, to_bool};

/// All of [`EventActions`](super::EventActions) except the state delta and the route.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UncommonActions {
    pub(crate) skip_summarization: Option<bool>,
    pub(crate) artifact_delta: BTreeMap<String, i64>,
    pub(crate) transfer_to_agent: Option<String>,
    pub(crate) transfer_reason: Option<String>,
    pub(crate) escalate: Option<bool>,
    pub(crate) requested_auth_configs: BTreeMap<String, AuthConfig>,
    pub(crate) requested_tool_confirmations: BTreeMap<String, ToolConfirmation>,
    pub(crate) compaction: Option<EventCompaction>,
    pub(crate) end_of_agent: Option<bool>,
    pub(crate) agent_state: Option<Map>,
    pub(crate) rewind_before_invocation_id: Option<String>,
    pub(crate) render_ui_widgets: Option<Vec<UiWidget>>,
    pub(crate) set_model_response: Option<Value>,
}

json_object! {
    /// A request for a person's permission to call a tool, or the answer to it. ADK: `ToolConfirmation`
    pub struct ToolConfirmation refuse as "ToolConfirmation" {
        /// The text that the person should read.
        hint: String = "hint",
        /// Whether the call is allowed.
        confirmed: bool = "confirmed",
        /// Further data of the question or the answer: user data, whose keys are never renamed.
        payload: Option<Value> = "payload",
    }
}

impl ToolConfirmation {
    /// Reads a client's answer: a confirmation, or `{"response": "<a confirmation as JSON text>"}`. Null fields are
    /// treated as absent, and `confirmed` may be a word or a number, as [`to_bool`] reads it.
    /// ADK: `ToolConfirmation.from_response_dict`
    ///
    /// # Errors
    /// Fails if the answer has neither form.
    pub fn from_response(response: &Value) -> Result<Self, Error> {
        let read = |mut value: Value| {
            if let Value::Object(fields) = &mut value {
                fields.retain(|_, field| !field.is_null());
                let confirmed = fields.get("confirmed").and_then(to_bool);
                fields.extend(confirmed.map(|flag| ("confirmed".to_owned(), Value::from(flag))));
            }
            serde_json::from_value(value)
        };
        match response.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.get("response")) {
            Some(Value::String(text)) => read(serde_json::from_str(text)?),
            _ => read(response.clone()),
        }
    }
}

json_object! {
    /// A widget that a user interface shows next to the text. ADK: `UiWidget`
    pub struct UiWidget refuse as "UiWidget" {
        /// The id of the widget.
        id: String = "id",
        /// The provider that renders it, for example `mcp`.
        provider: String = "provider",
        /// The data that the provider needs: user data, whose keys are never renamed.
        payload: Map = "payload",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ToolConfirmation;

    fn check(response: Value, expected: Option<(&str, bool, Value)>) {
        let read = ToolConfirmation::from_response(&response).ok();
        let read = read.map(|read| (read.hint, read.confirmed, read.payload.unwrap_or_default()));
        assert_eq!(
            read,
            expected.map(|(hint, confirmed, payload)| (hint.to_owned(), confirmed, payload)),
            "{response}"
        );
    }

    // R920
    #[test]
    fn answers_to_confirmations_are_objects_or_hold_one_as_text() {
        check(json!({"confirmed": true, "payload": {"a": 1}}), Some(("", true, json!({"a": 1}))));
        check(json!({"hint": null, "confirmed": null}), Some(("", false, json!(null))));
        check(json!({"response": "{\"confirmed\": true, \"hint\": \"h\"}"}), Some(("h", true, json!(null))));
        check(json!({"confirmed": "yes"}), Some(("", true, json!(null))));
        check(json!({"confirmed": 0}), Some(("", false, json!(null))));
        check(json!({"confirmed": "perhaps"}), None);
        check(json!({"response": "yes"}), None);
        check(json!({"response": true}), None);
        check(json!({"confirmed": true, "other": 1}), None);
        check(json!(true), None);
    }
}
