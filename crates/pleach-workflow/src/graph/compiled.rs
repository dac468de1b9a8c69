//! [`Graph`]: the checked graph that the engine uses, with indices instead of names.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use pleach_context::engine::GraphNames;
use pleach_context::{EdgeOutline, GraphOutline, Node};
use pleach_core::{DEFAULT_ROUTE, Route, RouteKey};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::edge::{self, Edge, EdgeRoute, followed};
use crate::engine::ReplayRules;

/// The name under which START appears to nodes: as predecessor, and as key of a join.
pub(crate) const START_NAME: SmolStr = SmolStr::new_static("__START__");

/// A checked graph.
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
    /// The edges out of START, in declaration order.
    pub(crate) start: Vec<Edge>,
    /// The edges out of all nodes, grouped by node, each group in the order in which its edges are followed.
    edges: Vec<Edge>,
    /// The joins, in the order of their nodes.
    pub(crate) joins: Vec<Join>,
    /// The nodes without outgoing edges.
    pub(crate) terminal: Vec<usize>,
    /// The number of nodes whose last output is kept.
    pub(crate) kept: u32,
    pub(crate) names: Arc<GraphNames>,
    /// The nodes by name.
    pub(crate) index: FxHashMap<SmolStr, u32>,
}

/// A node of a checked graph. Small, because every step of a run or replay reads one.
pub(crate) struct GraphNode {
    pub(crate) node: Arc<dyn Node>,
    /// The part of the node's declaration that replay decisions depend on.
    pub(crate) replay: ReplayRules,
    /// The range of the node's edges in the graph's edges.
    out: Range<u32>,
    /// The node's index among the joins, if it is a join.
    pub(crate) join: Option<u32>,
    /// The index of the node's kept output, if a join or the workflow's output reads it later.
    pub(crate) kept: Option<u32>,
}

/// A node with its outgoing edges in declaration order: the input for making a graph.
pub(crate) struct Part {
    pub(crate) node: Arc<dyn Node>,
    pub(crate) out: Vec<Edge>,
    pub(crate) join: Option<Join>,
}

/// The predecessors that a join waits for.
pub(crate) struct Join {
    /// The predecessors, sorted by name.
    pub(crate) awaited: Vec<Awaited>,
    /// The number of predecessors that run: all except START.
    pub(crate) expected: usize,
}

/// A predecessor that a join waits for.
pub(crate) struct Awaited {
    pub(crate) name: SmolStr,
    /// The index of the predecessor; `None` for START, which has always completed.
    pub(crate) node: Option<usize>,
}

impl Graph {
    /// Makes a graph from its parts.
    pub(crate) fn new(start: Vec<Edge>, parts: Vec<Part>, names: GraphNames) -> Self {
        let is_join: Vec<bool> = parts.iter().map(|part| part.join.is_some()).collect();
        let index = names.nodes.iter().cloned().zip(0..).collect();
        let mut graph = Self {
            nodes: Vec::with_capacity(parts.len()),
            start,
            edges: Vec::new(),
            joins: Vec::new(),
            terminal: Vec::new(),
            kept: 0,
            names: Arc::new(names),
            index,
        };
        for Part { node, mut out, join } in parts {
            edge::sort(&mut out);
            if out.is_empty() {
                graph.terminal.push(graph.nodes.len());
            }
            let kept = (out.is_empty() || out.iter().any(|edge| is_join[edge.to])).then_some(graph.kept);
            graph.kept += u32::from(kept.is_some());
            let first = number(graph.edges.len());
            graph.edges.extend(out);
            let join = join.map(|join| {
                graph.joins.push(join);
                number(graph.joins.len() - 1)
            });
            let replay = ReplayRules::of(node.spec());
            graph.nodes.push(GraphNode { node, replay, out: first..number(graph.edges.len()), join, kept });
        }
        graph
    }

    /// Returns the edges out of a node, in the order in which they are followed.
    pub(crate) fn out(&self, node: usize) -> &[Edge] {
        let Range { start, end } = self.nodes[node].out;
        &self.edges[start as usize..end as usize]
    }

    /// Returns `true` if a node has no outgoing edge.
    pub(crate) fn is_terminal(&self, node: usize) -> bool {
        self.nodes[node].out.is_empty()
    }

    /// Returns the edges that a completion with this route follows.
    // R624
    pub(crate) fn followed<'a>(&'a self, node: usize, route: Option<&'a Route>) -> impl Iterator<Item = &'a Edge> {
        followed(self.out(node), route)
    }

    /// Returns `true` if this node is the only predecessor of each of its successors.
    pub(crate) fn leads_alone(&self, node: usize) -> bool {
        self.out(node).iter().all(|edge| self.names.predecessors[edge.to].len() <= 1)
    }

    /// Returns the graph as plain data.
    pub(crate) fn outline(&self) -> GraphOutline {
        let out = |from: Option<usize>, edges: &[Edge]| {
            let edge = |edge: &Edge| EdgeOutline { from, to: edge.to, on: keys(edge.route.as_ref()) };
            edges.iter().map(edge).collect::<Vec<_>>()
        };
        let later = (0..self.nodes.len()).flat_map(|place| {
            let mut edges = self.out(place).to_vec();
            edges.sort_by_key(|edge| edge.declared);
            out(Some(place), &edges)
        });
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

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a graph has fewer than 2^32 nodes and edges")
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.nodes.iter().map(|node| &node.node.spec().name)).finish()
    }
}
