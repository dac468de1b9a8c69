//! The actions that a node sets in addition to its events: [`Context::with_actions`].

use pleach_core::{Event, EventActions, Map, UiWidget};

use super::Context;
use crate::NodeError;

impl Context {
    /// Returns a copy of the changes that the run's next event will carry.
    #[must_use]
    pub fn actions(&self) -> EventActions {
        let cell = self.cell();
        let mut actions = cell.lane.actions.clone();
        if !actions.state_delta().is_empty() {
            let delta = actions.state_writes();
            self.invocation().session_state().fill(actions.state_delta_mut(), delta);
        }
        if cell.route_pending {
            actions.set_route(cell.route.as_deref().cloned());
        }
        actions
    }

    /// Changes the actions that the run's next event will carry: `escalate`, `transfer_to_agent`, `skip_summarization`,
    /// widgets and files. If the run sends no further event, its end sends one with the actions. A route is treated as
    /// in [`set_route`](Context::set_route), and state as in [`State::update`](crate::State::update).
    ///
    /// `change` gets a copy of the actions, and it may call this context.
    ///
    /// # Errors
    /// If the run has ended, if the state schema refuses a key, or if `change` sets an action that a node may not
    /// set. Such actions are requests for credentials and confirmations, checkpoints, summaries and rewinds. Nothing
    /// is changed in these cases.
    pub fn with_actions<R>(&self, change: impl FnOnce(&mut EventActions) -> R) -> Result<R, NodeError> {
        let before = self.actions();
        let mut changed = before.clone();
        let result = change(&mut changed);
        let mut changed = Event::new().with_actions(changed);
        self.bound_event(&mut changed)?;
        if self.speaks_for_others() {
            changed.replace_nul();
        }
        let mut after = changed.into_actions();
        check_settable(&before, &after)?;
        let state = changed_state(&before, &after)?;
        let ops = after.take_state_ops();
        self.state().check_changes(&state, &ops)?;
        let mut cell = self.cell();
        self.state().change(&mut cell, state, ops)?;
        if before.route() != after.route() {
            cell.route = after.route().cloned().map(Box::new);
            cell.route_pending = after.route().is_some();
        }
        cell.lane.actions.replay(&before, after);
        Ok(result)
    }

    /// Shows a widget to the user. The run's next event carries it.
    ///
    /// # Errors
    /// A `ValueError` if the run already shows a widget with this id; a `ValidationError` if the payload nests too
    /// deeply for the event.
    pub fn render_ui_widget(&self, widget: UiWidget) -> Result<(), NodeError> {
        let (id, mut shown) = (widget.id.clone(), EventActions::new());
        shown.set_render_ui_widgets(Some(vec![widget]));
        let mut shown = Event::new().with_actions(shown);
        self.bound_event(&mut shown)?;
        let mut cell = self.cell();
        self.check_change(&cell)?;
        let mut widgets = cell.lane.actions.render_ui_widgets().unwrap_or_default().to_vec();
        if widgets.iter().any(|known| known.id == id) {
            return Err(NodeError::value(format!("UI widget with id '{id}' already exists."))
                .with_hint("give each widget of a run an id of its own"));
        }
        widgets.extend_from_slice(shown.actions().render_ui_widgets().unwrap_or_default());
        cell.lane.actions.set_render_ui_widgets(Some(widgets));
        Ok(())
    }
}

/// Refuses changes of actions that a node may not set. Requests for credentials and confirmations have methods of
/// their own, which keep the agent's secrets out of the event. Only the runtime sets the other refused actions.
fn check_settable(before: &EventActions, after: &EventActions) -> Result<(), NodeError> {
    let refused = [
        (
            before.requested_auth_configs() != after.requested_auth_configs(),
            "requested_auth_configs",
            "call `Context::request_credential`",
        ),
        (
            before.requested_tool_confirmations() != after.requested_tool_confirmations(),
            "requested_tool_confirmations",
            "call `Context::request_confirmation`",
        ),
        (
            before.rewind_before_invocation_id() != after.rewind_before_invocation_id(),
            "rewind_before_invocation_id",
            "call `Runner::rewind`",
        ),
        (before.compaction() != after.compaction(), "compaction", "set `compaction` of the app"),
        (before.agent_state() != after.agent_state(), "agent_state", "only the runtime writes checkpoints"),
        (before.end_of_agent() != after.end_of_agent(), "end_of_agent", "only the runtime writes checkpoints"),
    ];
    match refused.into_iter().find(|(changed, ..)| *changed) {
        Some((_, action, instead)) => {
            Err(NodeError::value(format!("a node cannot set the action `{action}` with `with_actions`: {instead}")))
        }
        None => Ok(()),
    }
}

fn changed_state(before: &EventActions, after: &EventActions) -> Result<Map, NodeError> {
    let (before, after) = (before.state_delta(), after.state_delta());
    if let Some(key) = before.keys().find(|key| !after.contains_key(*key)) {
        return Err(NodeError::value(format!(
            "the write to state key '{key}' cannot be taken back: set the key to another value"
        )));
    }
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    Ok(changed.map(|(key, value)| (key.clone(), value.clone())).collect())
}
