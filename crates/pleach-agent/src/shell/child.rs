//! Runs one sub-agent of a shell agent, and the agents to which it transfers.
// L175

use std::sync::Arc;

use pleach_context::engine::{LaneSetup, RunHandle};
use pleach_context::{Node, NodeError};
use pleach_core::Branch;
use pleach_workflow::{TransferStep, transfer_step};

use super::ShellRun;
use crate::run::StepEnd;

/// The place of a sub-agent's run.
#[derive(Default)]
pub(super) struct ChildSetup {
    /// The index of the first event of the session that can belong to this run.
    pub(super) since: usize,
    /// The branch of the sub-agent; `None` for the branch of the shell agent.
    pub(super) branch: Option<Branch>,
    /// The round of the loop that runs the sub-agent.
    pub(super) round: Option<u32>,
}

impl ShellRun<'_> {
    /// Runs a sub-agent within this run.
    pub(super) async fn child(&self, child: &Arc<dyn Node>, mut setup: ChildSetup) -> Result<StepEnd, NodeError> {
        let mut agents = vec![child];
        loop {
            let Some(agent) = agents.last() else { return Ok(StepEnd::Done) };
            let lane = self.lane(agent, &setup);
            let ended = agent.run(lane.context().clone(), self.input.clone()).await;
            if ended.is_err() {
                // The counters of plugins are kept for the next event of the run.
                lane.discard_changes();
            }
            self.handle.merge_lane(&lane);
            ended?;
            if lane.has_escalated() {
                self.handle.escalate();
            }
            if lane.waits() {
                return Ok(StepEnd::Waiting);
            }
            let Some((target, recorded_at)) = lane.take_transfer() else { return Ok(StepEnd::Done) };
            setup.since = recorded_at.unwrap_or_else(|| self.now());
            let specs: Vec<_> = agents.iter().filter_map(|agent| agent.agent()).collect();
            let step = transfer_step(&specs, &target)?;
            if step != TransferStep::Down {
                agents.pop();
            }
            if step != TransferStep::Up {
                let sub = agents.last().and_then(|above| above.agent()).and_then(|above| above.sub_agent(&target));
                agents.extend(sub);
            }
        }
    }

    fn lane(&self, agent: &Arc<dyn Node>, setup: &ChildSetup) -> RunHandle {
        self.handle.lane(LaneSetup {
            author: Some(agent.spec().name.clone()),
            branch: setup.branch.clone(),
            since: Some(setup.since),
            round: setup.round.map(|round| (self.shell.agent.name.clone(), round)),
            ..LaneSetup::default()
        })
    }

    /// Returns the index that the next event of the session will have.
    pub(super) fn now(&self) -> usize {
        self.handle.invocation().next_place()
    }
}
