//! [`WorkflowReplay`]: the history of a workflow run and the replay plan of its nodes.

use std::sync::Arc;

use pleach_context::{Context, History, NodeError};

use super::changed::{NOT_IN_IT, changed};
use super::replay_plan::ReplayPlan;
use crate::graph::Graph;

/// The history of a workflow run and the replay plan of its nodes.
pub(super) struct WorkflowReplay {
    pub(super) history: Arc<History>,
    pub(super) plan: ReplayPlan,
}

impl WorkflowReplay {
    /// Reads the history of the workflow's run, and takes or makes its replay plan.
    ///
    /// # Errors
    /// A `WorkflowChangedError` for a recorded run that does not belong to a node of the graph.
    pub(super) fn read(graph: &Graph, history: Arc<History>, ctx: &Context) -> Result<Self, NodeError> {
        // The check for a changed workflow has made the plan, except below dynamic runs and for a retry.
        if let Some(plan) = ReplayPlan::take(graph, &history, ctx.node_path()) {
            return Ok(Self { history, plan });
        }
        match ReplayPlan::read(graph, &history, ctx.node_path()) {
            Ok(plan) => Ok(Self { plan, history }),
            Err(run) => Err(changed(ctx.node_name(), ctx.node_path(), run.path.name(), NOT_IN_IT)),
        }
    }
}
