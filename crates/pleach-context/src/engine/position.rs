//! [`GraphPosition`] and [`GraphNames`]: what a run knows about the graph around it.

use smol_str::SmolStr;

/// The position of a run in its workflow's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPosition {
    /// The node.
    pub node: u32,
    /// The predecessor whose completion queued the run; `None` for the first nodes.
    pub by: Option<u32>,
}

/// The names in a workflow's graph, for contexts to show. A workflow run shares one with the runs below it.
#[derive(Debug, Default)]
pub struct GraphNames {
    /// The nodes.
    pub nodes: Vec<SmolStr>,
    /// For every node, the names of all its predecessors.
    pub predecessors: Vec<Vec<SmolStr>>,
}
