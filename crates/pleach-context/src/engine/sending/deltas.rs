//! Moves the pending changes of a run onto its events.
// R411

use pleach_core::Event;
use serde_json::Value;

use crate::Context;
use crate::engine::RunState;

impl Context {
    /// Drops the state operations of a failed attempt. If the attempt is retried, now or by a resume, they would be
    /// applied twice. Values that the attempt has set stay.
    // R415
    pub(super) fn drop_operations(&self, cell: &mut RunState) {
        let delta = cell.lane.actions.state_writes();
        if delta != 0 && !cell.lane.actions.state_delta().is_empty() {
            self.invocation().session_state().drop_ops(cell.lane.actions.state_delta_mut(), delta);
        }
    }
}

pub(super) fn has_changes(cell: &RunState) -> bool {
    if cell.sends_requests() {
        cell.lane.actions.has_effects()
    } else {
        cell.lane.actions.has_effects_beside_requests()
    }
}

/// Moves pending changes onto the event. They win over the event's own changes, which become visible now.
// R411
pub(super) fn take_deltas(ctx: &Context, cell: &mut RunState, event: &mut Event) {
    take_state(ctx, cell, event);
    if cell.lane.actions.is_empty() {
        return;
    }
    // The rest is rare: files, widgets, credentials, confirmations and control actions.
    let mut pending = std::mem::take(&mut cell.lane.actions);
    if ctx.speaks_for_others() {
        pending.replace_nul();
    }
    if !cell.sends_requests() {
        cell.lane.actions.take_requests(&mut pending);
    }
    event.actions_mut().merge(pending);
}

/// Moves the pending state changes onto the event. Takes no lock if the event changes no state.
fn take_state(ctx: &Context, cell: &mut RunState, event: &mut Event) {
    let pending = cell.lane.actions.state_writes();
    let keys = cell.lane.actions.take_state_delta();
    if keys.is_none() && !event.actions().changes_state() {
        return;
    }
    let mut state = ctx.invocation().session_state();
    let delta = if keys.is_some() { pending } else { state.next_delta() };
    let mut keys = keys.unwrap_or_default();
    let ops = event.actions_mut().take_state_ops();
    let own = std::mem::take(event.actions_mut().state_delta_mut());
    for (key, value) in own.into_iter().filter(|(key, _)| !ops.contains_key(key)) {
        if !keys.contains_key(&key) {
            state.set(&key, value, delta);
            keys.insert(key, Value::Null);
        }
    }
    for (key, ops) in ops {
        // The operations were checked before. If the value has changed since then, the store refuses the event.
        ops.into_iter().for_each(|op| drop(state.apply(&key, op, delta)));
        keys.insert(key, Value::Null);
    }
    state.fill(&mut keys, delta);
    drop(state);
    let actions = event.actions_mut();
    actions.set_state_delta(keys);
    actions.set_state_writes(delta);
}
