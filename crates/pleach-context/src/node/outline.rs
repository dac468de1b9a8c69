//! What a node is made of, as plain data.

use pleach_core::RouteKey;
use smol_str::SmolStr;

use super::{NodeKind, NodeSpec};

/// What a node is made of: for pictures and listings.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The node's name.
    pub name: SmolStr,
    /// What the node is for.
    pub description: String,
    /// The kind of node.
    pub kind: NodeKind,
    /// Whether an answered question runs the node again.
    pub rerun_on_resume: bool,
    /// Whether a run without output leaves the node waiting.
    pub wait_for_output: bool,
    /// The graph of a workflow.
    pub graph: Option<GraphOutline>,
}

/// The nodes of a workflow and how they follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphOutline {
    /// The nodes, as they were added.
    pub nodes: Vec<Outline>,
    /// The edges, as they were declared, node by node; those out of START come first.
    pub edges: Vec<EdgeOutline>,
}

/// One edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeOutline {
    /// The place of the node it leaves; `None` for START.
    pub from: Option<usize>,
    /// The place of the node it leads to.
    pub to: usize,
    /// The routes it is followed on, [`DEFAULT_ROUTE`](pleach_core::DEFAULT_ROUTE) among them; none for every one.
    pub on: Vec<RouteKey>,
}

impl Outline {
    /// The outline of a node that has no nodes inside.
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
