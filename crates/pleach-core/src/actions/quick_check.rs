//! The quick check of actions.

use super::{EventActions, UncommonActions};
use crate::RouteKey;
use crate::quick_check::{QUICK, QuickCheck};

impl EventActions {
    /// Returns `true` if `check` could examine all actions, except their state operations, and they passed.
    pub(crate) fn passes(&self, check: &impl QuickCheck) -> bool {
        let Self { state_delta, route, uncommon } = self;
        let passes_key = |key: &RouteKey| match key {
            RouteKey::Str(text) => check.text(text),
            RouteKey::Int(_) | RouteKey::Bool(_) => true,
        };
        check.map_of(state_delta.as_ref().map(|delta| &delta.values))
            && route.as_ref().is_none_or(|route| route.keys().iter().all(passes_key))
            && uncommon.as_ref().is_none_or(|uncommon| uncommon.passes(check))
    }
}

impl UncommonActions {
    pub(super) fn passes(&self, check: &impl QuickCheck) -> bool {
        let Self {
            skip_summarization: _,
            artifact_delta,
            transfer_to_agent,
            transfer_reason,
            escalate: _,
            requested_auth_configs,
            requested_tool_confirmations,
            compaction: None,
            end_of_agent: _,
            agent_state,
            rewind_before_invocation_id,
            render_ui_widgets: None,
            set_model_response,
        } = self
        else {
            return false;
        };
        artifact_delta.keys().all(|name| check.text(name))
            && check.text_of(transfer_to_agent)
            && check.text_of(transfer_reason)
            && requested_auth_configs.is_empty()
            && requested_tool_confirmations.is_empty()
            && check.map_of(agent_state.as_ref())
            && check.text_of(rewind_before_invocation_id)
            && set_model_response.as_ref().is_none_or(|answer| check.value(answer, QUICK))
    }
}
