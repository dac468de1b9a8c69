//! [`GraphPosition`] and [`GraphNames`]: what a run knows about the graph around it.

use smol_str::SmolStr;

/// The position of a run in its workflow's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPosition {
    /// The index of the node in the graph.
    pub node: u32,
    /// The index of the predecessor whose completion queued the run; `None` for the first nodes.
    pub by: Option<u32>,
}

/// The node names of a workflow's graph, shown by contexts. A workflow run shares them with the runs below it.
#[derive(Debug, Default)]
pub struct GraphNames {
    /// The names of the nodes.
    pub nodes: Vec<SmolStr>,
    /// For every node, the names of all its predecessors.
    pub predecessors: Vec<Vec<SmolStr>>,
}
