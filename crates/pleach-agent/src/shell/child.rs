//! Running one sub-agent of a shell agent, and those that it transfers to.
// L175

use std::sync::Arc;

use pleach_context::engine::{Engine as _, LaneSetup};
use pleach_context::{Context, Node, NodeError};
use pleach_core::Branch;
use pleach_workflow::{TransferStep, transfer_step};

use super::ShellRun;
use crate::run::StepEnd;

impl ShellRun<'_> {
    /// Runs a sub-agent within this run. Its events from the session's event `since` on are its own.
    pub(super) async fn child(
        &self,
        child: &Arc<dyn Node>,
        mut since: usize,
        branch: Option<Branch>,
    ) -> Result<StepEnd, NodeError> {
        let mut agents = vec![child];
        loop {
            let Some(agent) = agents.last() else { return Ok(StepEnd::Done) };
            let lane = self.lane(agent, since, branch.clone());
            agent.run(lane.clone(), self.input.clone()).await?;
            self.ctx.engine().merge_lane(&lane);
            if lane.engine().has_escalated() {
                self.ctx.engine().escalate();
            }
            if lane.engine().waits() {
                return Ok(StepEnd::Waiting);
            }
            let Some((target, recorded_at)) = lane.engine().take_transfer() else { return Ok(StepEnd::Done) };
            since = recorded_at.unwrap_or_else(|| self.now());
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

    fn lane(&self, agent: &Arc<dyn Node>, since: usize, branch: Option<Branch>) -> Context {
        let author = Some(agent.spec().name.clone());
        self.ctx.engine().lane(LaneSetup { author, branch, since: Some(since), ..LaneSetup::default() })
    }

    /// How many events the session has.
    pub(super) fn now(&self) -> usize {
        self.ctx.invocation().engine().with_events(<[_]>::len)
    }
}
