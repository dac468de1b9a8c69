//! [`Draft`]: a graph under construction, before it is checked and compiled.

use std::sync::Arc;

use pleach_context::{InputReader, Node, NodeKind, NodeSpec};
use smol_str::SmolStr;

use super::compiled::START_NAME;
use super::edge::EdgeRoute;
use super::error::Fault;
use super::handle::End;

/// The nodes and edges of a graph as the builder collects them.
pub(crate) struct Draft {
    pub(crate) spec: NodeSpec,
    pub(crate) nodes: Vec<Arc<dyn Node>>,
    pub(crate) links: Vec<Link>,
    pub(crate) misuses: Vec<Fault>,
}

/// The edges of a draft by node.
pub(crate) struct Adjacency<'a> {
    pub(crate) out: Vec<Vec<&'a Link>>,
    pub(crate) into: Vec<Vec<&'a Link>>,
}

/// An edge of a draft.
pub(crate) struct Link {
    pub(crate) from: End,
    pub(crate) to: End,
    pub(crate) route: Option<EdgeRoute>,
}

impl Draft {
    pub(super) fn new(name: SmolStr) -> Self {
        let spec = NodeSpec::new(name).kind(NodeKind::Workflow).rerun_on_resume(true);
        Self { spec, nodes: Vec::new(), links: Vec::new(), misuses: Vec::new() }
    }

    /// Returns the draft that remains in a builder after `build`.
    pub(super) fn spent(name: &SmolStr) -> Self {
        let mut draft = Self::new(name.clone());
        let message = format!("Workflow '{name}' has already been built: start another one with `Workflow::builder`.");
        draft.misuses.push(Fault::config("already_built", message));
        draft
    }

    /// Returns the outgoing and incoming edges of every node. Edges from START appear only as incoming.
    pub(crate) fn adjacency(&self) -> Adjacency<'_> {
        let mut adjacency =
            Adjacency { out: vec![Vec::new(); self.nodes.len()], into: vec![Vec::new(); self.nodes.len()] };
        for link in &self.links {
            if let End::Node { index, .. } = link.from {
                adjacency.out[index].push(link);
            }
            if let End::Node { index, .. } = link.to {
                adjacency.into[index].push(link);
            }
        }
        adjacency
    }

    /// Returns the readers with which the first nodes read the input of the workflow.
    pub(super) fn first_readers(&self) -> Vec<InputReader> {
        let first = self.links.iter().filter(|link| matches!(link.from, End::Start)).filter_map(|link| match link.to {
            End::Node { index, .. } => self.nodes.get(index),
            End::Start => None,
        });
        first.flat_map(|node| node.spec().reads.iter().copied()).collect()
    }

    pub(crate) fn name_of(&self, end: End) -> SmolStr {
        match end {
            End::Start => START_NAME,
            End::Node { index, .. } => self.nodes[index].spec().name.clone(),
        }
    }
}
