//! What engines set and take of tool calls.
// R852

use pleach_core::{AuthConfig, ToolConfirmation};

use super::{Engine as _, RunHandle};

/// What a tool asked for before its call can be answered.
#[derive(Debug, Default)]
pub struct ToolRequests {
    /// A person's consent.
    pub confirmation: Option<ToolConfirmation>,
    /// A credential: the config as [`credential_question`](crate::engine::credential_question) takes it.
    pub credential: Option<AuthConfig>,
}

impl RunHandle<'_> {
    /// Makes this the context of a tool call.
    pub fn set_function_call_id(self, id: impl Into<String>) {
        self.0.cell().lane.tool.get_or_insert_default().function_call_id = Some(id.into());
    }

    /// Sets the client's answer to a request for confirmation.
    pub fn set_tool_confirmation(self, confirmation: ToolConfirmation) {
        self.0.cell().lane.tool.get_or_insert_default().confirmation = Some(confirmation);
    }

    /// Numbers the call among those of its agent's run: how many of the tool it has made, a name for what the call runs, and
    /// whether no call came before.
    pub fn set_call_number(self, ordinal: u32, key: &str, is_first: bool) {
        let mut cell = self.0.cell();
        let tool = cell.lane.tool.get_or_insert_default();
        (tool.ordinal, tool.key, tool.is_first) = (ordinal, key.to_owned(), is_first);
    }

    /// Makes the run of the child that this call is for the one with the ordinal of the call.
    pub fn number_children_like_call(self) {
        self.0.cell().lane.tool.get_or_insert_default().is_run_of_child = true;
    }

    /// Returns the name for what this call runs, unique among the calls of its agent's run.
    #[must_use]
    pub fn call_key(self) -> String {
        self.0.cell().lane.tool.as_ref().map(|tool| tool.key.clone()).unwrap_or_default()
    }

    /// Makes this the context of a tool call whose requests are kept for [`take_tool_requests`](Self::take_tool_requests)
    /// and ride on no event.
    pub fn begin_tool_call(self, id: impl Into<String>) {
        self.0.engine().set_function_call_id(id);
        self.0.cell().lane.tool.get_or_insert_default().keeps_requests = true;
    }

    /// Marks the response of an agent's call, which waits for its confirmation, as final.
    // L114
    pub fn skip_summarization_of_gate(self) {
        let mut cell = self.0.cell();
        if cell.sends_requests() {
            cell.lane.actions.set_skip_summarization(Some(true));
        }
    }

    /// Takes what the tool asked for in this call; nothing in a call whose requests ride on an event.
    #[must_use]
    pub fn take_tool_requests(self) -> ToolRequests {
        let Some(id) = self.0.function_call_id() else { return ToolRequests::default() };
        let mut cell = self.0.cell();
        if cell.lane.actions.is_empty() || cell.sends_requests() {
            return ToolRequests::default();
        }
        ToolRequests {
            confirmation: cell.lane.actions.requested_tool_confirmations_mut().remove(&id),
            credential: cell.lane.actions.requested_auth_configs_mut().remove(&id),
        }
    }
}
