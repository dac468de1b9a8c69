//! The drawing of one level of an app: the graph of a workflow, or the tree of an agent.
// H106

use std::collections::{HashMap, HashSet};

use pleach_context::{EdgeOutline, Node, NodeKind, Outline};
use pleach_core::RouteKey;
use pleach_workflow::internal::{Drawing, DrawnEdge, DrawnKind, DrawnNode, EdgeKind, write_dot};

use super::app_graph::{START, tool_names};
use super::workflow_theme::{Branches, END, WorkflowTheme};

const TOOL: DrawnKind = DrawnKind::Node(NodeKind::Tool);

/// Draws a level in the language of Graphviz.
pub(super) fn picture(level: &dyn Node, is_dark: bool) -> String {
    let level = Level::of(level);
    let theme = WorkflowTheme::new(is_dark, level.branches());
    write_dot(&level.into_drawing(), &theme)
}

/// Returns a level, and every workflow below it, by the path from the level `path`.
pub(super) fn levels<'a>(level: &'a dyn Node, path: &str) -> Vec<(String, &'a dyn Node)> {
    let mut found = vec![(path.to_owned(), level)];
    add_workflows_below(level, path, &mut found);
    found
}

fn add_workflows_below<'a>(level: &'a dyn Node, path: &str, found: &mut Vec<(String, &'a dyn Node)>) {
    for child in children(level) {
        let name = child.spec().name.as_str();
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        if is_workflow(child) {
            found.push((path.clone(), child));
        }
        add_workflows_below(child, &path, found);
    }
}

/// Returns the level at a path of names. The path may begin with the name of the root.
pub(super) fn find<'a>(root: &'a dyn Node, path: &str) -> Option<&'a dyn Node> {
    let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
    names.next_if(|name| root.spec().name == **name);
    names.try_fold(root, |level, name| children(level).into_iter().find(|child| child.spec().name == name))
}

/// Returns the nodes of a workflow's graph, and the sub-agents of an agent.
fn children(level: &dyn Node) -> Vec<&dyn Node> {
    let graph = if is_workflow(level) { level.outline().graph } else { None };
    let nodes = graph.iter().flat_map(|graph| &graph.nodes).filter_map(|outline| level.child(&outline.name));
    nodes.chain(sub_agents(level)).collect()
}

fn is_workflow(node: &dyn Node) -> bool {
    node.spec().kind == NodeKind::Workflow
}

fn sub_agents(node: &dyn Node) -> impl Iterator<Item = &dyn Node> {
    node.agent().into_iter().flat_map(|agent| &agent.sub_agents).map(|sub| &**sub)
}

/// The nodes and edges of a level.
#[derive(Default)]
struct Level {
    nodes: Vec<DrawnNode>,
    edges: Vec<DrawnEdge>,
    is_workflow: bool,
    /// The names of the nodes whose routes are known, so that each has an edge.
    have_known_routes: HashSet<String>,
}

impl Level {
    fn of(node: &dyn Node) -> Self {
        let mut level = Self { is_workflow: is_workflow(node), ..Self::default() };
        if level.is_workflow {
            level.add_graph(node);
        } else {
            level.add_agents(node);
            level.add_tools_below(node);
        }
        level
    }

    fn add_graph(&mut self, workflow: &dyn Node) {
        let graph = workflow.outline().graph.unwrap_or_default();
        let inner = |outline: &Outline| workflow.child(&outline.name);
        for outline in &graph.nodes {
            let spec = inner(outline).map(Node::spec);
            self.add(&outline.name, spec.map_or(NodeKind::Plain, |spec| spec.kind));
            if spec.is_some_and(|spec| spec.routes.is_some()) {
                self.have_known_routes.insert(outline.name.to_string());
            }
        }
        let name = |place: usize| graph.nodes[place].name.as_str();
        for EdgeOutline { from, to, on } in &graph.edges {
            let edge = DrawnEdge::new(from.map_or(START, name), name(*to), EdgeKind::Next);
            self.edges.push(DrawnEdge { routes: shown_routes(on).to_vec(), ..edge });
        }
        graph.nodes.iter().filter_map(inner).for_each(|node| self.add_tools(node));
    }

    /// Adds an agent and the agents below it.
    fn add_agents(&mut self, agent: &dyn Node) {
        let name = agent.spec().name.as_str();
        self.add(name, NodeKind::Agent);
        for sub in sub_agents(agent) {
            self.edges.push(DrawnEdge::new(name, sub.spec().name.as_str(), EdgeKind::SubAgent));
            self.add_agents(sub);
        }
    }

    fn add_tools_below(&mut self, agent: &dyn Node) {
        self.add_tools(agent);
        sub_agents(agent).for_each(|sub| self.add_tools_below(sub));
    }

    fn add_tools(&mut self, node: &dyn Node) {
        let Some(agent) = node.agent().filter(|agent| agent.is_llm) else { return };
        for tool in tool_names(agent) {
            self.add(tool, NodeKind::Tool);
            self.edges.push(DrawnEdge::new(node.spec().name.as_str(), tool, EdgeKind::Tool));
        }
    }

    /// Adds a node, unless there is one with its name.
    fn add(&mut self, name: &str, kind: NodeKind) {
        if !self.nodes.iter().any(|node| node.id == name) {
            self.nodes.push(DrawnNode::new(name, name, DrawnKind::Node(kind)));
        }
    }

    fn out<'a>(&'a self, node: &'a DrawnNode) -> impl Iterator<Item = &'a DrawnEdge> {
        self.edges.iter().filter(move |edge| edge.from == node.id && edge.kind != EdgeKind::Tool)
    }

    /// Returns the nodes that choose among routes, by name.
    fn branches(&self) -> HashMap<String, Branches> {
        let is_default = |edge: &DrawnEdge| edge.routes.is_empty() || edge.routes.contains(&RouteKey::DEFAULT);
        let choosing = self.nodes.iter().filter(|node| self.out(node).any(|edge| !edge.routes.is_empty()));
        let branches = choosing.map(|node| {
            let is_complete = self.have_known_routes.contains(&node.id) || self.out(node).any(is_default);
            (node.id.clone(), if is_complete { Branches::Complete } else { Branches::LackDefault })
        });
        branches.collect()
    }

    /// Returns the nodes, then the edges. START comes before its first edge, and the end of a workflow comes last.
    fn into_drawing(self) -> Drawing {
        let is_last = |node: &&DrawnNode| self.is_workflow && node.kind != TOOL && self.out(node).next().is_none();
        let last: Vec<String> = self.nodes.iter().filter(is_last).map(|node| node.id.clone()).collect();
        let first = self.edges.iter().position(|edge| edge.from == START);
        let mut drawing = Drawing::default();
        self.nodes.into_iter().for_each(|node| drawing.add_node(node));
        for (place, edge) in self.edges.into_iter().enumerate() {
            if first == Some(place) {
                drawing.add_node(DrawnNode::new(START, "START", DrawnKind::Start));
            }
            drawing.add_edge(edge);
        }
        if !last.is_empty() {
            drawing.add_node(DrawnNode::new(END, "END", DrawnKind::End));
        }
        last.into_iter().for_each(|node| drawing.add_edge(DrawnEdge::new(node, END, EdgeKind::Next)));
        drawing
    }
}

/// Returns the routes with which an edge is drawn: google-adk leaves out a single route that is false in Python.
fn shown_routes(routes: &[RouteKey]) -> &[RouteKey] {
    match routes {
        [RouteKey::Bool(false) | RouteKey::Int(0)] => &[],
        [RouteKey::Str(text)] if text.is_empty() => &[],
        routes => routes,
    }
}
