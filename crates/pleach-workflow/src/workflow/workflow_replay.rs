//! [`Past`]: what history tells of the nodes of one workflow run.

use std::sync::Arc;

use pleach_context::{Context, History, NodeError};

use super::changed::{NOT_IN_IT, changed};
use super::replay_plan::ReplayPlan;
use crate::graph::Graph;

/// What history tells of the nodes of one workflow run.
pub(super) struct WorkflowReplay {
    pub(super) history: Arc<History>,
    pub(super) plan: ReplayPlan,
}

impl WorkflowReplay {
    /// # Errors
    /// A recorded run that is of none of the graph's nodes.
    pub(super) fn read(graph: &Graph, history: Arc<History>, ctx: &Context) -> Result<Self, NodeError> {
        // It was read for the check whether the workflow has changed, except below dynamic runs and for a retry.
        let kept = history.take_kept(ctx.node_path()).filter(|plan: &ReplayPlan| plan.is_of(graph));
        if let Some(plan) = kept {
            return Ok(Self { history, plan });
        }
        match ReplayPlan::read(graph, &history, ctx.node_path()) {
            Ok(plan) => Ok(Self { plan, history }),
            Err(run) => Err(changed(ctx.node_name(), ctx.node_path(), run.path.name(), NOT_IN_IT)),
        }
    }
}
