//! The drawing of an app's agents and their tools.
// H107, H108

use std::collections::HashSet;
use std::sync::Arc;

use pleach_context::{AgentSpec, Node, NodeKind, ShellKind};
use pleach_core::RESERVED_FUNCTIONS;
use pleach_workflow::internal::{
    Attributes, DotFormat, DotTheme, DotValue, Drawing, DrawnEdge, DrawnKind, DrawnNode, EdgeKind, Element, write_dot,
};

const AGENT: DrawnKind = DrawnKind::Node(NodeKind::Agent);
const TOOL: DrawnKind = DrawnKind::Node(NodeKind::Tool);

const GREY: &str = "#cccccc";
const DARK_GREEN: &str = "#0F5223";
const LIGHT_GREEN: &str = "#69CB87";

/// Two names: the first one has called or answered the second one.
pub(super) type Pair = (String, String);

/// Returns the tree below a root agent in the language of Graphviz, with the nodes and edges of these pairs marked; `None`
/// if the root is not an agent.
pub(super) fn agent_graph(root: &dyn Node, pairs: &[Pair], is_dark: bool) -> Option<String> {
    let root = root.agent()?;
    let mut drawing = Drawing::default();
    Tree { pairs, known: names(root) }.agent(&mut drawing, root);
    Some(write_dot(&drawing, &Theme { pairs, is_dark }))
}

/// What decides which nodes a tree has.
struct Tree<'a> {
    pairs: &'a [Pair],
    /// The agents of the tree, and the tools that were added to them one by one.
    known: HashSet<&'a str>,
}

impl<'a> Tree<'a> {
    fn agent(&self, drawing: &mut Drawing, agent: &'a AgentSpec) {
        match agent.shell {
            Some(kind) => self.shell(drawing, agent, kind),
            None => self.plain_agent(drawing, agent),
        }
    }

    fn plain_agent(&self, drawing: &mut Drawing, agent: &'a AgentSpec) {
        let name = agent.name.as_str();
        drawing.add_node(DrawnNode::new(name, name, AGENT));
        for sub in sub_agents(agent) {
            self.agent(drawing, sub);
            match sub.shell {
                None => drawing.add_edge(DrawnEdge::new(name, sub.name.as_str(), EdgeKind::SubAgent)),
                Some(kind) => {
                    for entry in entries(sub, kind) {
                        drawing.add_edge(DrawnEdge::new(name, entry, EdgeKind::Next));
                    }
                }
            }
        }
        let tools = agent.tools.iter().map(|tool| tool.name()).chain(agent.toolsets.iter().map(|set| set.name()));
        for tool in tools.chain(self.used(agent)) {
            drawing.add_node(DrawnNode::new(tool, tool, TOOL));
            drawing.add_edge(DrawnEdge::new(name, tool, EdgeKind::Tool));
        }
    }

    /// Returns the tools of an agent's toolsets that are in a pair with it. The tree does not contain these tools.
    fn used(&self, agent: &AgentSpec) -> Vec<&'a str> {
        let others = self.pairs.iter().filter_map(|(from, to)| match () {
            () if *from == *agent.name => Some(to.as_str()),
            () if *to == *agent.name => Some(from.as_str()),
            () => None,
        });
        let is_used =
            |name: &&str| !name.is_empty() && !self.known.contains(name) && !RESERVED_FUNCTIONS.contains(name);
        if agent.toolsets.is_empty() { Vec::new() } else { others.filter(is_used).collect() }
    }

    /// Draws an agent that runs others in a fixed way as a group of those agents, with the order in which they run.
    fn shell(&self, drawing: &mut Drawing, agent: &'a AgentSpec, kind: ShellKind) {
        let title = format!("{} ({} Agent)", agent.name, title(kind));
        let mut inside = Drawing::default();
        for sub in sub_agents(agent) {
            self.agent(&mut inside, sub);
        }
        drawing.elements.push(Element::Group(DrawnNode::new(title.as_str(), title.as_str(), AGENT), inside));
        if kind == ShellKind::Parallel {
            return;
        }
        let mut step = |from, to| drawing.add_edge(DrawnEdge::new(leaf(from, true), leaf(to, false), EdgeKind::Next));
        let steps: Vec<&AgentSpec> = sub_agents(agent).map(|sub| &**sub).collect();
        for pair in steps.windows(2) {
            step(pair[0], pair[1]);
        }
        if let (ShellKind::Loop, Some(first), Some(last)) = (kind, steps.first(), steps.last()) {
            step(last, first);
        }
    }
}

fn names(agent: &AgentSpec) -> HashSet<&str> {
    let tools = agent.tools.iter().map(|tool| tool.name());
    let mut names: HashSet<&str> = tools.chain([agent.name.as_str()]).collect();
    sub_agents(agent).for_each(|sub| names.extend(self::names(sub)));
    names
}

fn sub_agents(agent: &AgentSpec) -> impl Iterator<Item = &Arc<AgentSpec>> {
    agent.sub_agents.iter().filter_map(|sub| sub.agent())
}

/// Returns the agents that a group begins with.
fn entries(agent: &AgentSpec, kind: ShellKind) -> Vec<&str> {
    let count = if kind == ShellKind::Parallel { usize::MAX } else { 1 };
    sub_agents(agent).take(count).map(|sub| leaf(sub, false)).collect()
}

/// Returns the last or first agent of a group, because no edge leads to the group itself.
fn leaf(agent: &AgentSpec, is_last: bool) -> &str {
    let next = if is_last { sub_agents(agent).last() } else { sub_agents(agent).next() };
    match next.filter(|_| agent.shell.is_some()) {
        Some(inner) => leaf(inner, is_last),
        None => &agent.name,
    }
}

fn title(kind: ShellKind) -> &'static str {
    match kind {
        ShellKind::Sequential => "Sequential",
        ShellKind::Loop => "Loop",
        _ => "Parallel",
    }
}

/// The look that google-adk gives to the tree, with the nodes and edges of the pairs marked.
struct Theme<'a> {
    pairs: &'a [Pair],
    is_dark: bool,
}

impl DotTheme for Theme<'_> {
    fn format(&self) -> DotFormat {
        DotFormat { opening: "strict digraph {", indent: "\t", separator: " ", has_group_attributes_last: true }
    }

    fn defaults(&self) -> Vec<(&'static str, Attributes)> {
        let background = if self.is_dark { "#333537" } else { "#ffffff" };
        vec![("graph", vec![("bgcolor", background.into()), ("rankdir", "LR".into())])]
    }

    fn node(&self, node: &DrawnNode) -> Attributes {
        let is_marked = self.pairs.iter().any(|(from, to)| *from == node.id || *to == node.id);
        let (symbol, shape) = if node.kind == TOOL { ('🔧', "box") } else { ('🤖', "ellipse") };
        let label = DotValue::Text(format!("{symbol} {}", node.name));
        let mut attributes = vec![("label", label)];
        if is_marked {
            attributes.extend([("color", DARK_GREEN.into()), ("fillcolor", DARK_GREEN.into())]);
        } else {
            attributes.push(("color", GREY.into()));
        }
        let style = if is_marked { "filled,rounded" } else { "rounded" };
        attributes.extend([("fontcolor", GREY.into()), ("shape", shape.into()), ("style", style.into())]);
        attributes
    }

    fn group(&self, group: &DrawnNode) -> Attributes {
        vec![
            ("color", "#ffffff".into()),
            ("fontcolor", GREY.into()),
            ("label", DotValue::Text(group.name.clone())),
            ("style", "rounded".into()),
        ]
    }

    fn edge(&self, edge: &DrawnEdge) -> Attributes {
        let has = |first: &str, second: &str| self.pairs.iter().any(|(from, to)| from == first && to == second);
        match (has(&edge.from, &edge.to), has(&edge.to, &edge.from), edge.kind) {
            (true, ..) => vec![("color", LIGHT_GREEN.into())],
            (false, true, _) => vec![("color", LIGHT_GREEN.into()), ("dir", "back".into())],
            (false, false, EdgeKind::Next) => vec![("color", GREY.into())],
            (false, false, _) => vec![("arrowhead", "none".into()), ("color", GREY.into())],
        }
    }
}
