//! Decides which runs wait for an output.

use std::sync::Arc;

use pleach_context::engine::RunHandle;
use pleach_context::{AgentSpec, Node};

/// Returns `true` if a run that ends without an output waits for one. An agent that converses leaves its graph node
/// waiting for the next message of the user. The same applies to an agent with a task below it that asks the user.
pub(super) fn waits_for_output(node: &dyn Node, handle: &RunHandle) -> bool {
    let is_in_graph = || handle.position().is_some();
    let is_open = |agent: &Arc<AgentSpec>| agent.converses() || handle.waits();
    node.spec().wait_for_output || (node.agent().is_some_and(is_open) && is_in_graph())
}
