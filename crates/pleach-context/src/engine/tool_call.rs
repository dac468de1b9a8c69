//! Tool calls: what engines set on them and take from them.
// R852

use pleach_core::{AuthConfig, FunctionCall, ToolConfirmation};
use smol_str::SmolStr;

use super::RunHandle;
use crate::{ConfirmationTerms, Context};

/// The requests of a tool that must be met before its call can be answered.
#[derive(Debug, Default)]
pub struct ToolRequests {
    /// The request for a person's consent.
    pub confirmation: Option<ToolConfirmation>,
    /// The options of the request for consent.
    pub terms: ConfirmationTerms,
    /// The request for a credential: the config that [`credential_question`](crate::engine::credential_question) takes.
    pub credential: Option<AuthConfig>,
}

impl Context {
    /// Returns the call's key, which names the runs below the call and is unique among the calls of the agent's run.
    pub(crate) fn call_key(&self) -> String {
        self.cell().lane.tool.as_ref().map(|tool| tool.key.clone()).unwrap_or_default()
    }
}

impl RunHandle {
    /// Makes this the context of a tool call.
    pub fn set_function_call_id(&self, id: impl Into<String>) {
        self.ctx.cell().lane.tool.get_or_insert_default().function_call_id = Some(id.into());
    }

    /// Sets the client's answer to a request for confirmation.
    pub fn set_tool_confirmation(&self, confirmation: ToolConfirmation) {
        self.ctx.cell().lane.tool.get_or_insert_default().confirmation = Some(confirmation);
    }

    /// Numbers the call among the calls of its agent's run. `ordinal` is the number of calls of this tool so far,
    /// `key` names the runs below the call, and `is_first` says that no call came before. Agents that share a run
    /// [claim](Self::claim_calls) their calls first.
    pub fn set_call_number(&self, ordinal: u32, key: &str, is_first: bool) {
        let agent = self.agent_within_run();
        let mut cell = self.ctx.cell();
        let shared = agent.as_ref().zip(cell.calls.as_ref());
        let id = cell.lane.tool.as_ref().and_then(|tool| tool.function_call_id.as_deref()).unwrap_or_default();
        let is_repeated = shared.is_some_and(|(agent, calls)| calls.agents.get(id).is_some_and(|first| first != agent));
        let is_first = is_first && shared.is_none_or(|(agent, calls)| calls.first.as_ref() == Some(agent));
        let agent = agent.filter(|_| is_repeated);
        let key = agent.map_or_else(|| key.to_owned(), |agent| format!("{key}~{agent}"));
        let tool = cell.lane.tool.get_or_insert_default();
        (tool.ordinal, tool.key, tool.is_first) = (ordinal, key, is_first);
    }

    /// Records that the agent has made calls in this run, which it shares with other agents. If several agents make
    /// calls with the same id, only the first agent's call has the id alone as its key.
    pub fn claim_calls<'e>(&self, agent: &SmolStr, calls: impl IntoIterator<Item = &'e FunctionCall>) {
        let mut cell = self.ctx.cell();
        for call in calls {
            let known = cell.calls.get_or_insert_default();
            known.first.get_or_insert_with(|| agent.clone());
            known.agents.entry(call.id.clone().unwrap_or_default()).or_insert_with(|| agent.clone());
        }
    }

    /// Returns the agent of this lane if the lane's events belong to the run of another agent.
    #[must_use]
    pub fn agent_within_run(&self) -> Option<SmolStr> {
        self.ctx.lane.as_ref()?.author.clone().filter(|author| *author != self.ctx.inner.name)
    }

    /// Makes the first child of this call take the call's ordinal as its run id.
    pub fn number_children_like_call(&self) {
        self.ctx.cell().lane.tool.get_or_insert_default().is_run_of_child = true;
    }

    /// Returns the call's key, which names the runs below the call and is unique among the calls of the agent's run.
    #[must_use]
    pub fn call_key(&self) -> String {
        self.ctx.call_key()
    }

    /// Makes this the context of a tool call whose requests are kept for
    /// [`take_tool_requests`](Self::take_tool_requests) and not carried by an event.
    pub fn begin_tool_call(&self, id: impl Into<String>) {
        self.set_function_call_id(id);
        self.ctx.cell().lane.tool.get_or_insert_default().keeps_requests = true;
    }

    /// Marks the response of an agent's call, which waits for its confirmation, as final.
    // L114
    pub fn skip_summarization_of_gate(&self) {
        let mut cell = self.ctx.cell();
        if cell.sends_requests() {
            cell.lane.actions.set_skip_summarization(Some(true));
        }
    }

    /// Returns the options of the tool's request for a confirmation.
    #[must_use]
    pub fn confirmation_terms(&self) -> ConfirmationTerms {
        let cell = self.ctx.cell();
        cell.lane.tool.as_ref().and_then(|tool| tool.terms.as_deref().cloned()).unwrap_or_default()
    }

    /// Takes the requests of the tool in this call. They are empty if an event carries the requests.
    #[must_use]
    pub fn take_tool_requests(&self) -> ToolRequests {
        let Some(id) = self.ctx.function_call_id() else { return ToolRequests::default() };
        let terms = self.confirmation_terms();
        let mut cell = self.ctx.cell();
        if cell.lane.actions.is_empty() || cell.sends_requests() {
            return ToolRequests::default();
        }
        ToolRequests {
            confirmation: cell.lane.actions.requested_tool_confirmations_mut().remove(&id),
            terms,
            credential: cell.lane.actions.requested_auth_configs_mut().remove(&id),
        }
    }
}
