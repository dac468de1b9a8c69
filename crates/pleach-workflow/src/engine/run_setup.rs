//! [`RunSetup`]: the parameters of a run besides its node and its input.

use std::sync::Arc;

use pleach_context::engine::GraphPosition;
use pleach_context::{AgentMode, Context, Node};
use pleach_core::{Branch, Map, NodePath};
use smol_str::SmolStr;

/// The parameters of a run besides its node and its input.
#[derive(Debug, Default)]
pub(crate) struct RunSetup {
    pub(crate) path: NodePath,
    pub(crate) branch: Option<Branch>,
    pub(crate) isolation_scope: Option<Arc<str>>,
    pub(crate) resume_inputs: Option<Arc<Map>>,
    pub(crate) output_for: Option<Arc<[NodePath]>>,
    pub(crate) position: Option<GraphPosition>,
    /// Whether the run is a background child.
    pub(crate) background: bool,
    /// Whether the run follows a transfer. If so, no body awaits it together with other children.
    pub(crate) follows_transfer: bool,
    /// See [`ChildSetup::answers_for`](pleach_context::engine::ChildSetup::answers_for).
    pub(crate) answers_for: Option<Arc<[NodePath]>>,
    /// The name in the path, if it differs from the node's own.
    pub(crate) name: Option<SmolStr>,
    /// The options that the caller of an agent has chosen.
    pub(crate) choice: Option<Box<CallerChoice>>,
}

/// The options that an agent's caller has chosen. They also apply to the agents that the agent transfers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallerChoice {
    pub(crate) run_id: Option<SmolStr>,
    pub(crate) override_branch: Option<Option<Branch>>,
    pub(crate) use_sub_branch: bool,
    pub(crate) isolation_scope: Option<Arc<str>>,
}

impl CallerChoice {
    /// Returns the branch of a run at `path` below `above`.
    // R402
    pub(crate) fn branch(&self, above: &Context, path: &NodePath) -> Option<Branch> {
        let base = self.override_branch.clone().unwrap_or_else(|| above.branch());
        if self.use_sub_branch { Some(Branch::child(base.as_ref(), path.name(), path.run_id())) } else { base }
    }
}

/// Returns the isolation scope of an agent that works on a task. Such an agent has a conversation of its own with the
/// user.
// R1211, L193
pub(super) fn task_scope(node: &dyn Node, path: &NodePath) -> Option<Arc<str>> {
    let agent = node.agent()?;
    (agent.mode == Some(AgentMode::Task)).then(|| path.as_str().into())
}
