//! Lanes: several calls within one run, each with its own actions, author, branch and tool call.
// L100

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::{Branch, Content, NodePath};
use smol_str::SmolStr;

use super::{AgentPart, Lane, OwnLane, RunHandle, RunState, Transfer};
use crate::Context;

/// The state of a run as one of its calls sees it: the call's own lane takes the place of the body's lane.
pub(crate) struct Cell<'a> {
    run: MutexGuard<'a, RunState>,
    call: Option<MutexGuard<'a, Lane>>,
}

impl<'a> Cell<'a> {
    #[inline(never)]
    fn of_call(run: MutexGuard<'a, RunState>, own: &'a OwnLane) -> Self {
        let call = Some(own.lane.lock().unwrap_or_else(PoisonError::into_inner));
        let mut cell = Self { run, call };
        cell.swap();
        cell
    }

    #[inline(never)]
    fn swap(&mut self) {
        if let Some(lane) = &mut self.call {
            std::mem::swap(&mut self.run.lane, lane);
        }
    }
}

impl Deref for Cell<'_> {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        &self.run
    }
}

impl DerefMut for Cell<'_> {
    fn deref_mut(&mut self) -> &mut RunState {
        &mut self.run
    }
}

impl Drop for Cell<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.call.is_some() {
            self.swap();
        }
    }
}

impl Context {
    /// Locks the state of the run. Lock order: the run, its lane, the session state.
    #[inline]
    pub(crate) fn cell(&self) -> Cell<'_> {
        let run = self.run_state();
        match &self.lane {
            None => Cell { run, call: None },
            Some(own) => Cell::of_call(run, own),
        }
    }

    /// Locks the state that all calls of the run share. Its lane is the body's lane.
    #[inline]
    pub(crate) fn run_state(&self) -> MutexGuard<'_, RunState> {
        // No user code runs under these locks, so a panic cannot leave them half-changed.
        self.inner.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The settings in which a lane differs from its run.
#[derive(Debug, Default)]
pub struct LaneSetup {
    /// The author of the lane's events; `None` for the run's author.
    pub author: Option<SmolStr>,
    /// The branch of the lane; `None` for the run's branch.
    pub branch: Option<Branch>,
    /// The path on the lane's events; `None` for the run's path.
    pub event_path: Option<NodePath>,
    /// The index in the session at which the lane's own events start; `None` for the run's index.
    pub since: Option<usize>,
    /// A loop and its round. The lane's first event records them.
    pub round: Option<(SmolStr, u32)>,
}

impl RunHandle {
    /// Returns the handle of a call within this run. The call shares the run's parking, its counters of children and
    /// its questions. Actions, author, branch and tool call are the lane's own until [`merge_lane`](Self::merge_lane).
    #[must_use]
    pub fn lane(&self, setup: LaneSetup) -> Self {
        let cell = self.ctx.cell();
        let around = cell.lane.agent.as_deref();
        let rounds = around.and_then(|part| part.rounds.as_ref());
        let agent = AgentPart {
            event_path: setup.event_path.or_else(|| cell.lane.event_path().cloned()),
            transfer: None,
            since: setup.since.or_else(|| around.map(|part| part.since)).unwrap_or_default(),
            rounds: match setup.round {
                Some(round) => Some(rounds.iter().flat_map(|rounds| rounds.iter().cloned()).chain([round]).collect()),
                None => rounds.cloned(),
            },
        };
        let lane = Lane {
            branch: setup.branch.or_else(|| cell.lane.branch.clone()),
            isolation_scope: cell.lane.isolation_scope.clone(),
            author: setup.author.or_else(|| cell.lane.author.clone()),
            agent: Some(Box::new(agent)),
            ..Lane::default()
        };
        drop(cell);
        let own = OwnLane { author: lane.author.clone(), lane: Mutex::new(lane) };
        Self { ctx: Context { inner: Arc::clone(&self.ctx.inner), lane: Some(Arc::new(own)) } }
    }

    /// Returns the path on the events of this call.
    #[must_use]
    pub fn event_path(&self) -> NodePath {
        self.ctx.cell().lane.event_path().unwrap_or_else(|| self.ctx.node_path()).clone()
    }

    /// Returns the index in the session at which the events of this call start.
    #[must_use]
    pub fn since(&self) -> usize {
        self.ctx.cell().lane.agent.as_ref().map_or(0, |part| part.since)
    }

    /// Returns `true` if an event of this call has asked the enclosing loop to end.
    #[must_use]
    pub fn has_escalated(&self) -> bool {
        self.ctx.cell().lane.escalated
    }

    /// Records that an event below this call asks the enclosing loop to end.
    pub fn escalate(&self) {
        self.ctx.cell().lane.escalated = true;
    }

    /// Sets the task that this run works on. For this run and the runs below it, the task replaces the user's message.
    // L55
    pub fn set_task(&self, task: Content) {
        drop(self.ctx.inner.task.set(Box::new(task)));
    }

    /// Sets the branch of the run's next events, and of the nodes that follow the run in a graph.
    pub fn set_branch(&self, branch: Option<Branch>) {
        self.ctx.cell().lane.branch = branch;
    }

    /// Returns `true` if this call waits for an answer.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.ctx.cell().lane.waits
    }

    /// Records that something that this call runs waits for an answer.
    pub fn note_waiting(&self) {
        self.ctx.cell().lane.waits = true;
    }

    /// Returns `true` if an event of this call transfers to another agent.
    #[must_use]
    pub fn transfers(&self) -> bool {
        self.ctx.cell().lane.agent.as_ref().is_some_and(|part| part.transfer.is_some())
    }

    /// Takes the agent that an event of this call transfers to. For a recorded transfer, also returns the index in the
    /// session from which that agent runs.
    #[must_use]
    pub fn take_transfer(&self) -> Option<(SmolStr, Option<usize>)> {
        let transfer = self.ctx.cell().lane.take_transfer()?;
        Some((transfer.agent, transfer.since))
    }

    /// Records that the event before the session's event `since` transfers to an agent.
    pub fn transfer_to(&self, agent: SmolStr, since: usize) {
        self.ctx.cell().lane.agent_part().transfer = Some(Transfer { agent, since: Some(since) });
    }

    /// Prevents a failure of this run from leaving an event.
    // L170
    pub fn fail_silently(&self) {
        self.ctx.cell().fails_silently = true;
    }

    /// Returns `true` if a failure of this run leaves no event.
    #[must_use]
    pub fn fails_silently(&self) -> bool {
        self.ctx.cell().fails_silently
    }

    /// Ends a lane of this run, and moves its pending actions to the run's next event. If several lanes write the same
    /// state key, the lane merged last wins.
    // L108
    pub fn merge_lane(&self, lane: &Self) {
        let mut actions = {
            let mut cell = lane.cell();
            cell.lane.ended = true;
            std::mem::take(&mut cell.lane.actions)
        };
        if actions.is_empty() {
            return;
        }
        let from = actions.state_writes();
        let keys = actions.take_state_delta().unwrap_or_default();
        let mut cell = self.ctx.cell();
        if !keys.is_empty() {
            let mut state = self.ctx.invocation().session_state();
            let into = crate::context::delta_of(&mut cell.lane.actions, &mut state);
            keys.keys().for_each(|key| state.adopt(key, from, into));
            drop(state);
            cell.lane.actions.state_delta_mut().extend(keys);
        }
        cell.lane.actions.merge(actions);
    }
}
