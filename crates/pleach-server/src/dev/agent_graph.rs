//! The tree of an app's agents and their tools, in the language of Graphviz.
// H107, H108

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use pleach_context::{AgentSpec, Node, ShellKind};
use pleach_core::RESERVED_FUNCTIONS;

use super::dot_text::{id, quoted};

const GREY: &str = "#cccccc";
const DARK_GREEN: &str = "#0F5223";
const LIGHT_GREEN: &str = "#69CB87";

/// Two names: the first one has called or answered the second one.
pub(super) type Pair = (String, String);

/// Returns the tree below a root agent, with the nodes and edges of these pairs marked; `None` if the root is not an
/// agent.
pub(super) fn agent_graph<'a>(root: &'a dyn Node, pairs: &'a [Pair], is_dark: bool) -> Option<String> {
    let mut picture = Picture { text: String::new(), pairs, known: names(root.agent()?) };
    let background = if is_dark { "#333537" } else { "#ffffff" };
    writeln!(picture.text, "strict digraph {{\n\tgraph [bgcolor=\"{background}\" rankdir=LR]").ok()?;
    picture.agent(root.agent()?);
    picture.text.push_str("}\n");
    Some(picture.text)
}

struct Picture<'a> {
    text: String,
    pairs: &'a [Pair],
    /// The agents of the tree, and the tools that were added to them one by one.
    known: HashSet<&'a str>,
}

impl<'a> Picture<'a> {
    fn agent(&mut self, agent: &'a AgentSpec) {
        match agent.shell {
            Some(kind) => self.shell(agent, kind),
            None => self.plain_agent(agent),
        }
    }

    fn plain_agent(&mut self, agent: &'a AgentSpec) {
        self.node(&agent.name, '🤖', "ellipse");
        for sub in sub_agents(agent) {
            self.agent(sub);
            match sub.shell {
                None => self.edge(&agent.name, &sub.name, false),
                Some(kind) => entries(sub, kind).iter().for_each(|entry| self.edge(&agent.name, entry, true)),
            }
        }
        let tools = agent.tools.iter().map(|tool| tool.name()).chain(agent.toolsets.iter().map(|set| set.name()));
        for tool in tools.chain(self.used(agent)) {
            self.node(tool, '🔧', "box");
            self.edge(&agent.name, tool, false);
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
    fn shell(&mut self, agent: &'a AgentSpec, kind: ShellKind) {
        let title = format!("{} ({} Agent)", agent.name, title(kind));
        self.line(&format!("subgraph {} {{", quoted(&format!("cluster_{title}"))));
        sub_agents(agent).for_each(|sub| self.agent(sub));
        let label = quoted(&title);
        self.line(&format!("color=\"#ffffff\" fontcolor=\"{GREY}\" label={label} style=rounded"));
        self.line("}");
        if kind == ShellKind::Parallel {
            return;
        }
        let steps: Vec<&AgentSpec> = sub_agents(agent).map(|sub| &**sub).collect();
        for pair in steps.windows(2) {
            self.edge(leaf(pair[0], true), leaf(pair[1], false), true);
        }
        if let (ShellKind::Loop, Some(first), Some(last)) = (kind, steps.first(), steps.last()) {
            self.edge(leaf(last, true), leaf(first, false), true);
        }
    }

    fn node(&mut self, name: &str, symbol: char, shape: &str) {
        let is_marked = self.pairs.iter().any(|(from, to)| from == name || to == name);
        let (color, fill, style) = if is_marked {
            (DARK_GREEN, format!(" fillcolor=\"{DARK_GREEN}\""), "\"filled,rounded\"")
        } else {
            (GREY, String::new(), "rounded")
        };
        let label = quoted(&format!("{symbol} {name}"));
        self.line(&format!(
            "{} [label={label} color=\"{color}\"{fill} fontcolor=\"{GREY}\" shape={shape} style={style}]",
            id(name)
        ));
    }

    fn edge(&mut self, from: &str, to: &str, is_step: bool) {
        let has = |first: &str, second: &str| self.pairs.iter().any(|(a, b)| a == first && b == second);
        let look = match (has(from, to), has(to, from)) {
            (true, _) => format!("color=\"{LIGHT_GREEN}\""),
            (false, true) => format!("color=\"{LIGHT_GREEN}\" dir=back"),
            (false, false) if is_step => format!("color=\"{GREY}\""),
            (false, false) => format!("arrowhead=none color=\"{GREY}\""),
        };
        self.line(&format!("{} -> {} [{look}]", id(from), id(to)));
    }

    fn line(&mut self, text: &str) {
        self.text.push('\t');
        self.text.push_str(text);
        self.text.push('\n');
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
