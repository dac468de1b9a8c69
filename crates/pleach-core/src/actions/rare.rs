//! The actions few events have.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json::json_object;
use crate::{AuthConfig, EventCompaction, Map};

/// Everything of [`EventActions`](super::EventActions) but the state delta and the route.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RareActions {
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
    /// A question to a person whether a tool may be called, and its answer. ADK: `ToolConfirmation`
    pub struct ToolConfirmation refuse as "ToolConfirmation" {
        /// What the person should know.
        hint: String = "hint",
        /// True once the call is allowed.
        confirmed: bool = "confirmed",
        /// Anything the tool wants to ask or the person to add: user data, never renamed.
        payload: Option<Value> = "payload",
    }
}

json_object! {
    /// Something a user interface shall show beside the text. ADK: `UiWidget`
    pub struct UiWidget refuse as "UiWidget" {
        /// Names the widget.
        id: String = "id",
        /// Says how it is rendered, for example `mcp`.
        provider: String = "provider",
        /// What the provider needs: user data, never renamed.
        payload: Map = "payload",
    }
}
