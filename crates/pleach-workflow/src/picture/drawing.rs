//! [`Drawing`]: a graph as it is drawn. Every picture of a graph is written from it.

use pleach_context::NodeKind;
use pleach_core::RouteKey;

use super::NodeSummary;

/// A graph to draw. Its elements are in the order in which a text lists them.
#[derive(Debug, Default)]
pub struct Drawing {
    /// The nodes, groups and edges.
    pub elements: Vec<Element>,
}

/// A part of a [`Drawing`].
#[derive(Debug)]
pub enum Element {
    /// A node.
    Node(DrawnNode),
    /// A node that is drawn around the drawing of its inside.
    Group(DrawnNode, Drawing),
    /// An edge between two nodes or groups of the drawing.
    Edge(DrawnEdge),
}

/// A node or a group of a [`Drawing`].
#[derive(Debug)]
pub struct DrawnNode {
    /// The id that edges refer to, unique in the whole drawing. Mermaid takes letters, digits and `_` only.
    pub id: String,
    /// The text that is shown.
    pub name: String,
    /// The kind of node.
    pub kind: DrawnKind,
    /// The runs of the node in the invocation that is drawn.
    pub runs: Option<NodeSummary>,
}

/// The kind of a [`DrawnNode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnKind {
    /// The start of a graph.
    Start,
    /// The end of a graph.
    End,
    /// A node of the program, or a tool of one of its agents.
    Node(NodeKind),
}

/// An edge of a [`Drawing`].
#[derive(Debug)]
pub struct DrawnEdge {
    /// The id of the node that the edge leaves.
    pub from: String,
    /// The id of the node that the edge leads to.
    pub to: String,
    /// The relation between the two nodes.
    pub kind: EdgeKind,
    /// The routes on which the edge is followed; empty if it is always followed.
    pub routes: Vec<RouteKey>,
}

/// The relation between the nodes of a [`DrawnEdge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// The second node runs after the first.
    Next,
    /// The second node is a sub-agent of the first.
    SubAgent,
    /// The second node is a tool of the first.
    Tool,
}

impl Drawing {
    /// Adds a node.
    pub fn add_node(&mut self, node: DrawnNode) {
        self.elements.push(Element::Node(node));
    }

    /// Adds an edge.
    pub fn add_edge(&mut self, edge: DrawnEdge) {
        self.elements.push(Element::Edge(edge));
    }
}

impl DrawnNode {
    /// Returns a node without runs.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, kind: DrawnKind) -> Self {
        Self { id: id.into(), name: name.into(), kind, runs: None }
    }
}

impl DrawnEdge {
    /// Returns an edge without routes.
    #[must_use]
    pub fn new(from: impl Into<String>, to: impl Into<String>, kind: EdgeKind) -> Self {
        Self { from: from.into(), to: to.into(), kind, routes: Vec::new() }
    }

    /// Returns the routes as one text; `None` if there are none.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        let routes: Vec<String> = self.routes.iter().map(ToString::to_string).collect();
        (!routes.is_empty()).then(|| routes.join(", "))
    }
}
