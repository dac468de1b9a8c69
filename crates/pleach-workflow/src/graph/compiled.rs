//! The graph as the engine uses it: indices instead of names, fixed when the workflow is built.

use std::fmt;
use std::sync::Arc;

use pleach_context::{EdgeOutline, GraphNames, GraphOutline, Node};
use pleach_core::{DEFAULT_ROUTE, Route, RouteKey};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::edge::{Edge, EdgeRoute, followed};
use crate::engine::ReplayRules;

/// The name under which START appears to nodes: as predecessor, and as key of a join.
pub(crate) const START_NAME: SmolStr = SmolStr::new_static("__START__");

/// A checked graph.
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
    /// The edges out of START, in declaration order.
    pub(crate) start: Vec<Edge>,
    /// The nodes without outgoing edges.
    pub(crate) terminal: Vec<usize>,
    /// How many nodes have their last output kept.
    pub(crate) kept: u32,
    pub(crate) names: Arc<GraphNames>,
    /// The nodes by name.
    pub(crate) index: FxHashMap<SmolStr, u32>,
}

/// A node of a checked graph.
pub(crate) struct GraphNode {
    pub(crate) node: Arc<dyn Node>,
    pub(crate) replay: ReplayRules,
    pub(crate) out: Vec<Edge>,
    /// For a join: whom it waits for, sorted by name.
    pub(crate) awaited: Vec<Awaited>,
    /// For a join: how many of them run, which START does not.
    pub(crate) expected: usize,
    /// Where the last output is kept when it is asked for later: by a join, or as the workflow's output.
    pub(crate) kept: Option<u32>,
    pub(crate) is_join: bool,
}

/// A predecessor that a join waits for.
pub(crate) struct Awaited {
    pub(crate) name: SmolStr,
    /// `None` for START, which has always completed.
    pub(crate) node: Option<usize>,
}

impl Graph {
    /// Whether no other node leads to the successors of this one.
    pub(crate) fn leads_alone(&self, node: usize) -> bool {
        self.nodes[node].out.iter().all(|edge| self.names.predecessors[edge.to].len() <= 1)
    }

    /// The graph as plain data.
    pub(crate) fn outline(&self) -> GraphOutline {
        let out = |from: Option<usize>, edges: &[Edge]| {
            let edge = |edge: &Edge| EdgeOutline { from, to: edge.to, on: keys(edge.route.as_ref()) };
            edges.iter().map(edge).collect::<Vec<_>>()
        };
        let later = self.nodes.iter().enumerate().flat_map(|(place, node)| out(Some(place), &node.out));
        GraphOutline {
            nodes: self.nodes.iter().map(|node| node.node.outline()).collect(),
            edges: out(None, &self.start).into_iter().chain(later).collect(),
        }
    }
}

fn keys(route: Option<&EdgeRoute>) -> Vec<RouteKey> {
    match route {
        None => Vec::new(),
        Some(EdgeRoute::Keys(keys)) => keys.clone(),
        Some(EdgeRoute::Default) => vec![RouteKey::from(DEFAULT_ROUTE)],
    }
}

impl GraphNode {
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.is_empty()
    }

    /// The edges that a completion with this route follows (R624).
    pub(crate) fn followed<'a>(&'a self, route: Option<&'a Route>) -> impl Iterator<Item = &'a Edge> {
        followed(&self.out, route)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.nodes.iter().map(|node| &node.node.spec().name)).finish()
    }
}
