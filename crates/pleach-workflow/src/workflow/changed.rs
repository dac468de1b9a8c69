//! Whether a recorded run of a workflow can still be gone on with: before anything runs, not after a wrong replay.

use pleach_context::{History, NodeError, NodeKind, RunRecord};
use pleach_core::NodePath;
use rustc_hash::FxHashMap;

use crate::graph::Graph;

/// Compares the recorded runs of a workflow's nodes with its graph: every one must be of a node that is still there, and
/// that START still leads to over the routes that were taken.
///
/// What a run that goes on will give is not known, so all edges behind it count.
///
/// # Errors
/// `WorkflowChangedError`, naming the node.
pub(super) fn check(name: &str, graph: &Graph, path: &NodePath, history: &History) -> Result<(), NodeError> {
    let recorded = history.children(path);
    if recorded.is_empty() {
        return Ok(());
    }
    let places: FxHashMap<&str, usize> =
        graph.nodes.iter().enumerate().map(|(place, node)| (node.node.spec().name.as_str(), place)).collect();
    let mut runs = vec![Vec::new(); graph.nodes.len()];
    for run in recorded {
        let Some(&place) = places.get(run.name()) else {
            let what = format!("node '{}' has run, and is not in it any more", run.name());
            return Err(changed(name, path, &what));
        };
        runs[place].push(run);
        graph.nodes[place].node.fits(run, history)?;
    }
    let reached = reached(graph, &runs, history);
    let stray = runs.iter().zip(&reached).find(|(runs, reached)| !runs.is_empty() && !**reached);
    match stray.and_then(|(runs, _)| runs.first()) {
        Some(run) => {
            let what =
                format!("node '{}' has run, and no edge leads to it any more over what has happened", run.name());
            Err(changed(name, path, &what))
        }
        None => Ok(()),
    }
}

fn changed(name: &str, path: &NodePath, what: &str) -> NodeError {
    let message = format!("Workflow '{name}' has changed since its run '{path}' was recorded: {what}.");
    NodeError::new("WorkflowChangedError", message)
}

/// The nodes that START leads to.
fn reached(graph: &Graph, runs: &[Vec<&NodePath>], history: &History) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes.len()];
    let mut next: Vec<usize> = graph.start.iter().map(|edge| edge.to).collect();
    while let Some(place) = next.pop() {
        if std::mem::replace(&mut reached[place], true) {
            continue;
        }
        let node = &graph.nodes[place];
        let records: Vec<&RunRecord> = runs[place].iter().filter_map(|run| history.run(run)).collect();
        let settled = |record: &&RunRecord| record.open().is_empty() && !record.failed && record.finished;
        if node.node.spec().kind == NodeKind::Workflow || records.is_empty() || !records.iter().all(settled) {
            next.extend(node.out.iter().map(|edge| edge.to));
            continue;
        }
        for record in records {
            next.extend(node.followed(record.route.as_ref()).map(|edge| edge.to));
        }
    }
    reached
}
