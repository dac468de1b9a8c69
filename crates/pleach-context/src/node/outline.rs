//! The structure of a node, as plain data.

use pleach_core::RouteKey;
use smol_str::SmolStr;

use super::{NodeKind, NodeSpec};

/// The structure of a node, for pictures and listings.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The name of the node.
    pub name: SmolStr,
    /// The purpose of the node.
    pub description: String,
    /// The kind of node.
    pub kind: NodeKind,
    /// Whether the node runs again when one of its questions is answered.
    pub rerun_on_resume: bool,
    /// Whether a run without output leaves the node waiting for another trigger.
    pub wait_for_output: bool,
    /// The graph of a workflow.
    pub graph: Option<GraphOutline>,
}

/// The nodes of a workflow and the edges between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphOutline {
    /// The nodes, in the order in which they were added.
    pub nodes: Vec<Outline>,
    /// The edges, grouped by the node that they leave, with those of START first. Each group is in the order of
    /// declaration.
    pub edges: Vec<EdgeOutline>,
}

/// An edge of a workflow's graph.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeOutline {
    /// The index of the node that the edge leaves; `None` for START.
    pub from: Option<usize>,
    /// The index of the node that the edge leads to.
    pub to: usize,
    /// The routes on which the edge is followed, possibly including [`DEFAULT_ROUTE`](pleach_core::DEFAULT_ROUTE);
    /// empty if it is always followed.
    pub on: Vec<RouteKey>,
}

impl Outline {
    /// Returns the outline of a node without nodes inside.
    pub fn of(spec: &NodeSpec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            kind: spec.kind,
            rerun_on_resume: spec.rerun_on_resume,
            wait_for_output: spec.wait_for_output,
            graph: None,
        }
    }
}
