//! Checks, before a resume runs anything, that the graph still fits the recorded runs.

use pleach_context::engine::{RunRecord, WORKFLOW_CHANGED};
use pleach_context::{History, Node, NodeError};
use pleach_core::NodePath;

use super::replay_plan::ReplayPlan;
use crate::graph::Graph;

/// Compares the recorded runs of a workflow's nodes with its graph. Each run must belong to a node that still exists
/// and that START still reaches along the recorded routes, and its answers must fit the node's answer type.
///
/// The result of a run that has not ended is unknown, so all outgoing edges of its node are followed.
///
/// # Errors
/// A `WorkflowChangedError` that names the node.
pub(super) fn check(name: &str, graph: &Graph, path: &NodePath, history: &History) -> Result<(), NodeError> {
    let plan = ReplayPlan::read(graph, history, path).map_err(|run| changed(name, path, run.path.name(), NOT_IN_IT))?;
    let reached = reached(graph, &plan, history);
    for run in plan.all() {
        let (place, run) = (run.node as usize, history.at(run.key));
        graph.nodes[place].node.fits(run.path, history)?;
        if !reached[place] {
            return Err(changed(name, path, run.path.name(), NOT_REACHED));
        }
        if let Some(misfit) = misfit(&*graph.nodes[place].node, run.record) {
            let what = format!("its recorded answer does not fit its answer type any more ({misfit})");
            return Err(changed(name, path, run.path.name(), &what));
        }
    }
    plan.keep(history, path);
    Ok(())
}

/// The fault of a run whose node was removed.
pub(super) const NOT_IN_IT: &str = "is no longer in the workflow";

const NOT_REACHED: &str = "no edge leads to it any more along the recorded routes";

/// Returns the error for a recorded run of `node` that does not fit the workflow.
pub(super) fn changed(name: &str, path: &NodePath, node: &str, what: &str) -> NodeError {
    let message = format!(
        "Workflow '{name}' has changed since its run '{path}' was recorded: node '{node}' has run, but {what}. Resume with the workflow that recorded it, or start a new invocation."
    );
    NodeError::new(WORKFLOW_CHANGED, message)
}

/// Checks a recorded answer that is its node's output. Returns the reason if it does not fit the type that the node
/// declares.
fn misfit(node: &dyn Node, run: &RunRecord) -> Option<String> {
    let wanted = node.answer_type(&[])?;
    run.answers().values().find_map(|answer| wanted.check(answer).err()).map(|misfit| misfit.to_string())
}

/// Returns for each node whether START reaches it along the recorded routes.
fn reached(graph: &Graph, plan: &ReplayPlan, history: &History) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes.len()];
    let mut next: Vec<usize> = graph.start.iter().map(|edge| edge.to).collect();
    while let Some(place) = next.pop() {
        if std::mem::replace(&mut reached[place], true) {
            continue;
        }
        let node = &graph.nodes[place];
        let runs = plan.runs(place).map(|run| history.at(run.key).record);
        let is_final = |run: &RunRecord| !run.is_open() && !run.failed && run.finished;
        let known = !node.replay.is_workflow && runs.len() > 0 && runs.clone().all(is_final);
        if !known {
            next.extend(graph.out(place).iter().map(|edge| edge.to));
            continue;
        }
        for run in runs {
            let route = run.result_route(node.replay.rerun_on_resume);
            graph.followed(place, route).for_each(|edge| next.push(edge.to));
        }
    }
    reached
}
