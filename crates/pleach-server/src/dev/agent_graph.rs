//! The tree of an app's agents and their tools, in the language of Graphviz.
// H107, H108

use std::fmt::Write as _;

use pleach_context::{AgentSpec, Node};

const GREY: &str = "#cccccc";
const DARK_GREEN: &str = "#0F5223";
const LIGHT_GREEN: &str = "#69CB87";

/// Two names of which the first has called the second, or has answered it.
pub(super) type Pair = (String, String);

/// Returns the tree below a root agent, with the nodes and edges of some pairs marked; `None` when the root is no agent.
pub(super) fn agent_graph(root: &dyn Node, pairs: &[Pair], is_dark: bool) -> Option<String> {
    let mut picture = Picture { text: String::new(), pairs };
    let background = if is_dark { "#333537" } else { "#ffffff" };
    writeln!(picture.text, "strict digraph {{\n\tgraph [bgcolor=\"{background}\" rankdir=LR]").ok()?;
    picture.agent(root.agent()?);
    picture.text.push_str("}\n");
    Some(picture.text)
}

struct Picture<'a> {
    text: String,
    pairs: &'a [Pair],
}

impl Picture<'_> {
    fn agent(&mut self, agent: &AgentSpec) {
        self.node(&agent.name, '🤖', "ellipse");
        for sub in agent.sub_agents.iter().filter_map(|sub| sub.agent()) {
            self.agent(sub);
            self.edge(&agent.name, &sub.name);
        }
        for tool in &agent.tools {
            self.node(tool.name(), '🔧', "box");
            self.edge(&agent.name, tool.name());
        }
    }

    fn node(&mut self, name: &str, symbol: char, shape: &str) {
        let is_marked = self.pairs.iter().any(|(from, to)| from == name || to == name);
        let (color, fill, style) = match is_marked {
            true => (DARK_GREEN, format!(" fillcolor=\"{DARK_GREEN}\""), "\"filled,rounded\""),
            false => (GREY, String::new(), "rounded"),
        };
        let label = quoted(&format!("{symbol} {name}"));
        self.line(&format!(
            "{} [label={label} color=\"{color}\"{fill} fontcolor=\"{GREY}\" shape={shape} style={style}]",
            id(name)
        ));
    }

    fn edge(&mut self, from: &str, to: &str) {
        let has = |first: &str, second: &str| self.pairs.iter().any(|(a, b)| a == first && b == second);
        let look = match (has(from, to), has(to, from)) {
            (true, _) => format!("color=\"{LIGHT_GREEN}\""),
            (false, true) => format!("color=\"{LIGHT_GREEN}\" dir=back"),
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

/// Words that are no names unless they are quoted.
const KEYWORDS: &[&str] = &["node", "edge", "graph", "digraph", "subgraph", "strict"];

/// Returns a name as it is, or quoted where it has to be.
fn id(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    let is_plain = first && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_plain && !KEYWORDS.contains(&name.to_ascii_lowercase().as_str()) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h107_names_are_quoted_where_they_have_to_be() {
        for (name, shown) in [
            ("get_weather", "get_weather"),
            ("a-b", "\"a-b\""),
            ("1a", "\"1a\""),
            ("Node", "\"Node\""),
            ("", "\"\""),
            ("a\" -> b [x=\"", "\"a\\\" -> b [x=\\\"\""),
            ("a\\", "\"a\\\\\""),
        ] {
            assert_eq!(id(name), shown, "{name}");
        }
    }
}
