//! Lanes: several calls within one run, each with its own actions, author, branch and tool call.
// L100

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::{Branch, Content, NodePath};
use smol_str::SmolStr;

use super::{AgentPart, Lane, OwnLane, RunHandle, RunState, Transfer};
use crate::Context;

/// The state of a run, as one of its calls sees it: with its own lane in the place of the body's.
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

    /// Locks what all calls of the run share. The lane is the body's.
    #[inline]
    pub(crate) fn run_state(&self) -> MutexGuard<'_, RunState> {
        // No user code runs under these locks, so a panic cannot leave them half-changed.
        self.inner.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a lane has that differs from the run.
#[derive(Debug, Default)]
pub struct LaneSetup {
    /// The author of its events; `None` for the run's.
    pub author: Option<SmolStr>,
    /// The branch that it is on; `None` for the run's.
    pub branch: Option<Branch>,
    /// The path on its events; `None` for the run's.
    pub event_path: Option<NodePath>,
    /// From which event of the session on its own events are; `None` for the run's.
    pub since: Option<usize>,
    /// A loop and its round, which are noted on the first event.
    pub round: Option<(SmolStr, u32)>,
}

impl RunHandle {
    /// Returns the handle of a call within this run. Parking, the counters of children and questions are the run's; actions,
    /// author, branch and the tool call are the lane's own, until [`merge_lane`](Self::merge_lane).
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

    /// Returns from which event of the session on the events of this call are.
    #[must_use]
    pub fn since(&self) -> usize {
        self.ctx.cell().lane.agent.as_ref().map_or(0, |part| part.since)
    }

    /// Returns whether an event of this call has asked the loop around it to end.
    #[must_use]
    pub fn has_escalated(&self) -> bool {
        self.ctx.cell().lane.escalated
    }

    /// Notes that an event below this call asks the loop around it to end.
    pub fn escalate(&self) {
        self.ctx.cell().lane.escalated = true;
    }

    /// Sets the task that this run works on, which takes the place of the user's message for it and the runs below.
    // L55
    pub fn set_task(&self, task: Content) {
        drop(self.ctx.inner.task.set(Box::new(task)));
    }

    /// Makes this the branch of the events that follow, and of what follows the run in a graph.
    pub fn set_branch(&self, branch: Option<Branch>) {
        self.ctx.cell().lane.branch = branch;
    }

    /// Returns whether this call waits for an answer.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.ctx.cell().lane.waits
    }

    /// Notes that what this call runs waits for an answer.
    pub fn note_waiting(&self) {
        self.ctx.cell().lane.waits = true;
    }

    /// Returns whether an event of this call transfers to another agent.
    #[must_use]
    pub fn transfers(&self) -> bool {
        self.ctx.cell().lane.agent.as_ref().is_some_and(|part| part.transfer.is_some())
    }

    /// Takes the agent that an event of this call transfers to, and from which event of the session on that agent runs, if the
    /// transfer is a recorded one.
    #[must_use]
    pub fn take_transfer(&self) -> Option<(SmolStr, Option<usize>)> {
        let transfer = self.ctx.cell().lane.take_transfer()?;
        Some((transfer.agent, transfer.since))
    }

    /// Notes that the event before the session's event `since` transfers to an agent.
    pub fn transfer_to(&self, agent: SmolStr, since: usize) {
        self.ctx.cell().lane.agent_part().transfer = Some(Transfer { agent, since: Some(since) });
    }

    /// Lets a failure of this run leave no event.
    // L170
    pub fn fail_silently(&self) {
        self.ctx.cell().fails_silently = true;
    }

    /// Returns whether a failure of this run leaves no event.
    #[must_use]
    pub fn fails_silently(&self) -> bool {
        self.ctx.cell().fails_silently
    }

    /// Ends a lane of this run, and moves its pending actions to the run's next event. Of writes to one state key, those of the
    /// lane that is merged last win.
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
