//! Queries on an event.

use std::collections::BTreeSet;

use crate::engine_notes::is_engine_note;
use crate::request_input::{REQUEST_CREDENTIAL, REQUEST_INPUT};
use crate::{Event, FunctionCall, FunctionResponse, NodePath, OutputFor};

impl Event {
    /// Returns `true` if this is a streamed fragment.
    pub fn is_partial(&self) -> bool {
        self.partial == Some(true)
    }

    /// Joins the text of the message, without thoughts; empty if there is none.
    pub fn text(&self) -> String {
        self.content().map(|content| content.text()).unwrap_or_default()
    }

    /// Iterates over the function calls of the message.
    pub fn function_calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.content().into_iter().flat_map(|content| content.function_calls())
    }

    /// Iterates over the function responses of the message.
    pub fn function_responses(&self) -> impl Iterator<Item = &FunctionResponse> {
        self.content().into_iter().flat_map(|content| content.function_responses())
    }

    /// Returns `true` if the event is the user's own: a message, an answer, a state change or a rewind.
    ///
    /// The author alone does not decide, because a workflow or a node may be named `user`. An event with a path
    /// belongs to a node. Checkpoints, end marks, notes and abort events belong to the engine.
    pub fn is_from_user(&self) -> bool {
        self.author() == "user"
            && self.path().is_root()
            && self.error_code().is_none()
            && self.actions.agent_state().is_none()
            && self.actions.end_of_agent().is_none()
            && !self.is_note()
    }

    /// Returns `true` if the event is only a note of the engine: it has metadata and nothing else. If an event of
    /// the user has metadata as well, it is not a note, whatever the keys of the metadata are.
    fn is_note(&self) -> bool {
        self.content().is_none()
            && self.actions.is_empty()
            && self.custom_metadata().is_some_and(|metadata| metadata.keys().any(|key| is_engine_note(key)))
    }

    /// Returns `true` if the event's output is the output of the run at `path`.
    pub fn is_output_for(&self, path: &NodePath) -> bool {
        match &self.output_for {
            OutputFor::None => false,
            OutputFor::Own => self.path == *path,
            OutputFor::Paths(paths) => paths.contains(path),
        }
    }

    /// Returns the ids of the questions that the event asks the outside world: the ids of its long-running calls. If
    /// the event has no list of those, the ids of the calls that ask for input or a credential are returned. An
    /// agent's events always have the list, so a model cannot ask a question by calling a reserved function.
    // R141
    pub fn interrupt_ids(&self) -> BTreeSet<&str> {
        if let Some(ids) = self.long_running_tool_ids() {
            return ids.iter().map(String::as_str).collect();
        }
        self.reserved_call_ids().collect()
    }

    /// Returns the ids of the calls that ask for input or a credential.
    fn reserved_call_ids(&self) -> impl Iterator<Item = &str> {
        self.function_calls()
            .filter(|call| matches!(call.name.as_deref(), Some(REQUEST_INPUT | REQUEST_CREDENTIAL)))
            .filter_map(|call| call.id.as_deref())
    }

    /// Returns `true` if the event asks the outside world a question.
    // R141
    pub fn is_interrupt(&self) -> bool {
        match self.long_running_tool_ids() {
            Some(ids) => !ids.is_empty(),
            None => self.reserved_call_ids().next().is_some(),
        }
    }

    /// Returns `true` if this is a final response: the agent that wrote it has nothing to add.
    // R108
    pub fn is_final_response(&self) -> bool {
        let waits = self.long_running_tool_ids().is_some_and(|ids| !ids.is_empty());
        if waits || self.actions.skip_summarization() == Some(true) {
            return true;
        }
        if self.is_partial() || self.function_calls().next().is_some() {
            return false;
        }
        // A reported error ends the turn, whatever else the message contains.
        self.error_code().is_some_and(|code| !code.is_empty())
            || (self.function_responses().next().is_none() && !self.ends_with_code_result())
    }

    fn ends_with_code_result(&self) -> bool {
        self.content()
            .and_then(|content| content.parts().last())
            .is_some_and(|part| part.code_execution_result.is_some())
    }

    /// Returns `true` if the event is an agent's checkpoint or end mark. An event with an empty `agent_state` is not a
    /// checkpoint.
    // R125, R109
    pub fn is_checkpoint(&self) -> bool {
        self.actions.agent_state().is_some_and(|state| !state.is_empty()) || self.actions.end_of_agent() == Some(true)
    }

    /// Returns the name of the node that wrote the event; empty for checkpoints.
    // R109
    pub fn node_name(&self) -> &str {
        if self.is_checkpoint() { "" } else { self.path.name() }
    }
}
