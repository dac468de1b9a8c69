//! The picture of one level of an app: the graph of a workflow, or the tree of an agent, in the language of Graphviz.
// H106

use std::fmt::Write as _;

use serde_json::Value;

use super::app_graph::START;
use super::dot_text::{attributes, id, markup};

/// Draws a level as [`describe`](super::app_graph::describe) describes it.
pub(super) fn picture(level: &Value, is_dark: bool) -> String {
    let look = if is_dark { &DARK } else { &LIGHT };
    let mut picture = Picture { text: String::from("// Workflow Visualization\ndigraph {\n"), look };
    picture.defaults();
    let graph = Level::of(level);
    for node in &graph.nodes {
        picture.node(node, &graph);
    }
    picture.edges(&graph);
    if graph.is_workflow {
        picture.end(&graph);
    }
    picture.text.push_str("}\n");
    picture.text
}

/// Returns a level, and every workflow below it, by the path from the level `path`.
pub(super) fn levels<'a>(level: &'a Value, path: &str) -> Vec<(String, &'a Value)> {
    let mut found = vec![(path.to_owned(), level)];
    below(level, path, &mut found);
    found
}

fn below<'a>(level: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    for child in children(level) {
        let Some(name) = child["name"].as_str() else { continue };
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        if child.get("graph").is_some() {
            found.push((path.clone(), child));
        }
        below(child, &path, found);
    }
}

/// Returns the level at a path of names. The path may begin with the name of the root.
pub(super) fn find<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
    names.next_if(|name| root["name"] == **name);
    names.try_fold(root, |level, name| children(level).find(|child| child["name"] == name))
}

fn children(level: &Value) -> impl Iterator<Item = &Value> {
    let nodes = level.get("graph").and_then(|graph| graph.get("nodes"));
    let lists = [nodes, level.get("sub_agents")].into_iter().flatten();
    lists.filter_map(Value::as_array).flatten()
}

/// The colours of a picture.
struct Look {
    background: &'static str,
    fill: &'static str,
    line: &'static str,
    text: &'static str,
    edge: &'static str,
    edge_text: &'static str,
    start: [&'static str; 2],
    end: [&'static str; 2],
}

const LIGHT: Look = Look {
    background: "#F8FAFC",
    fill: "#FFFFFF",
    line: "#94A3B8",
    text: "#0F172A",
    edge: "#64748B",
    edge_text: "#475569",
    start: ["#059669", "#10B981"],
    end: ["#DC2626", "#EF4444"],
};

const DARK: Look = Look {
    background: "#0F172A",
    fill: "#1E293B",
    line: "#475569",
    text: "#F8FAFC",
    edge: "#94A3B8",
    edge_text: "#CBD5E1",
    start: ["#047857", "#059669"],
    end: ["#B91C1C", "#DC2626"],
};

const END: &str = "__END__";

/// The nodes and edges of a level.
struct Level {
    nodes: Vec<Item>,
    edges: Vec<Line>,
    is_workflow: bool,
}

struct Item {
    name: String,
    kind: String,
    /// Whether the item's routes are known, so that each has an edge.
    has_known_routes: bool,
}

struct Line {
    from: String,
    to: String,
    routes: Option<String>,
    /// Whether one of the line's routes is the default route.
    is_default: bool,
    is_tool: bool,
}

impl Level {
    fn of(level: &Value) -> Self {
        let mut picture = Self { nodes: Vec::new(), edges: Vec::new(), is_workflow: level.get("graph").is_some() };
        match level.get("graph") {
            Some(graph) => picture.take_graph(graph),
            None => picture.take_tree(level),
        }
        picture
    }

    fn take_graph(&mut self, graph: &Value) {
        let nodes: Vec<&Value> = graph["nodes"].as_array().into_iter().flatten().collect();
        for node in nodes.iter().filter(|node| node["name"] != START) {
            self.add(text(&node["name"]), node["type"].as_str().unwrap_or("node"), node.get("routes").is_some());
        }
        for edge in graph["edges"].as_array().into_iter().flatten() {
            let route = edge.get("route").filter(|route| is_shown(route));
            let is_default = |route: &Value| route == pleach_core::DEFAULT_ROUTE;
            self.edges.push(Line {
                from: text(&edge["from_node"]["name"]),
                to: text(&edge["to_node"]["name"]),
                is_default: route.is_none_or(|route| match route {
                    Value::Array(routes) => routes.iter().any(is_default),
                    route => is_default(route),
                }),
                routes: route.map(label_of),
                is_tool: false,
            });
        }
        nodes.into_iter().for_each(|node| self.take_tools(node));
    }

    /// Adds an agent and the agents below it.
    fn take_tree(&mut self, agent: &Value) {
        self.take_agents(agent);
        self.take_tools_below(agent);
    }

    fn take_agents(&mut self, agent: &Value) {
        self.add(text(&agent["name"]), "agent", false);
        for sub in agent["sub_agents"].as_array().into_iter().flatten() {
            self.edges.push(Line::plain(text(&agent["name"]), text(&sub["name"]), false));
            self.take_agents(sub);
        }
    }

    fn take_tools_below(&mut self, agent: &Value) {
        self.take_tools(agent);
        agent["sub_agents"].as_array().into_iter().flatten().for_each(|sub| self.take_tools_below(sub));
    }

    fn take_tools(&mut self, agent: &Value) {
        for tool in agent.get("tools").and_then(Value::as_array).into_iter().flatten() {
            self.add(text(&tool["name"]), "tool", false);
            self.edges.push(Line::plain(text(&agent["name"]), text(&tool["name"]), true));
        }
    }

    fn add(&mut self, name: String, kind: &str, has_known_routes: bool) {
        if !self.nodes.iter().any(|node| node.name == name) {
            self.nodes.push(Item { name, kind: kind.to_owned(), has_known_routes });
        }
    }

    fn out<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        self.edges.iter().filter(move |edge| edge.from == name && !edge.is_tool)
    }
}

impl Line {
    fn plain(from: String, to: String, is_tool: bool) -> Self {
        Self { from, to, routes: None, is_default: true, is_tool }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns true if an edge is drawn with its route: google-adk leaves out routes that are false in Python.
fn is_shown(route: &Value) -> bool {
    !matches!(route, Value::Bool(false)) && *route != 0 && *route != ""
}

/// Returns a route as Python prints it.
fn label_of(route: &Value) -> String {
    match route {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(routes) => {
            let quoted = |route: &Value| route.as_str().map_or_else(|| label_of(route), |text| format!("'{text}'"));
            format!("[{}]", routes.iter().map(quoted).collect::<Vec<_>>().join(", "))
        }
        route => text(route),
    }
}

struct Picture<'a> {
    text: String,
    look: &'a Look,
}

impl Picture<'_> {
    fn defaults(&mut self) {
        let look = self.look;
        let font = ("fontname", "Helvetica");
        let spaces = [("nodesep", "0.5"), ("pad", "0.5"), ("ranksep", "0.8"), ("splines", "spline")];
        self.line("graph", &[&[("bgcolor", look.background), font], &spaces[..]].concat());
        self.line(
            "node",
            &[
                ("color", look.line),
                ("fillcolor", look.fill),
                ("fontcolor", look.text),
                font,
                ("fontsize", "12"),
                ("margin", "0.25,0.15"),
                ("penwidth", "1.5"),
                ("shape", "rect"),
                ("style", "rounded,filled"),
            ],
        );
        self.line(
            "edge",
            &[
                ("arrowhead", "vee"),
                ("arrowsize", "0.7"),
                ("color", look.edge),
                ("fontcolor", look.edge_text),
                font,
                ("fontsize", "10"),
                ("penwidth", "1.2"),
            ],
        );
    }

    fn node(&mut self, node: &Item, level: &Level) {
        let branches = level.out(&node.name).any(|edge| edge.routes.is_some());
        let lacks_default = branches && !node.has_known_routes && !level.out(&node.name).any(|edge| edge.is_default);
        let (label, tooltip) = (label(node, lacks_default), title(&node.kind));
        let mut pairs = vec![("label", label.as_str()), ("fillcolor", self.look.fill)];
        match node.kind.as_str() {
            _ if branches => pairs.extend([
                ("height", "1.2"),
                ("margin", "0.0,0.0"),
                ("shape", "diamond"),
                ("style", "filled"),
                ("tooltip", &tooltip),
                ("width", "0.8"),
            ]),
            "join" => {
                pairs.extend([("margin", "0.05,0.05"), ("shape", "oval"), ("style", "filled"), ("tooltip", &tooltip)])
            }
            "tool" => pairs.extend([("style", "rounded,filled,dashed"), ("tooltip", &tooltip)]),
            _ => pairs.extend([("style", "rounded,filled"), ("tooltip", &tooltip)]),
        }
        self.line(&id(&node.name), &pairs);
    }

    fn edges(&mut self, level: &Level) {
        let mut has_start = false;
        for edge in &level.edges {
            if edge.from == START && !std::mem::replace(&mut has_start, true) {
                self.mark(START, "START", self.look.start);
            }
            let ends = format!("{} -> {}", id(&edge.from), id(&edge.to));
            let label = edge.routes.as_ref().map(|routes| format!("  {routes}")).unwrap_or_default();
            if edge.is_tool {
                self.line(&ends, &[("color", self.look.edge), ("style", "dashed")]);
            } else {
                self.line(&ends, &[("label", &label)]);
            }
        }
    }

    /// Draws the end, to which the last nodes lead.
    fn end(&mut self, level: &Level) {
        let is_last = |node: &&Item| node.kind != "tool" && level.out(&node.name).next().is_none();
        let last: Vec<&Item> = level.nodes.iter().filter(is_last).collect();
        if last.is_empty() {
            return;
        }
        self.mark(END, "END", self.look.end);
        for node in last {
            self.line(&format!("{} -> {END}", id(&node.name)), &[]);
        }
    }

    fn mark(&mut self, name: &str, label: &str, [color, fill]: [&str; 2]) {
        let pairs = [
            ("label", label),
            ("color", color),
            ("fillcolor", fill),
            ("fixedsize", "true"),
            ("fontcolor", self.look.text),
            ("fontname", "Helvetica-Bold"),
            ("shape", "oval"),
            ("style", "filled"),
            ("width", "0.9"),
        ];
        self.line(name, &pairs);
    }

    fn line(&mut self, what: &str, pairs: &[(&str, &str)]) {
        writeln!(self.text, "\t{what}{}", attributes(pairs)).expect("a String takes any text");
    }
}

/// Returns the label of a node: a symbol for its kind, and its name.
fn label(node: &Item, lacks_default: bool) -> String {
    let sign = match node.kind.as_str() {
        "agent" => Some(('✦', "#42A5F5")),
        "workflow" => Some(('⊷', "#9333EA")),
        "function" => Some(('ƒ', "#10B981")),
        "join" => Some(('⌵', "#F59E0B")),
        "tool" => Some(('🔧', "#6B7280")),
        _ => None,
    };
    let name = markup(&node.name);
    let warning = if lacks_default { "<br/><br/><FONT POINT-SIZE=\"10\">⚠️ [NO DEFAULT]</FONT>" } else { "" };
    match sign {
        Some((sign, color)) => format!("<<FONT COLOR=\"{color}\" POINT-SIZE=\"14\">{sign}</FONT> {name}{warning}>"),
        None if lacks_default => format!("<{name}{warning}>"),
        None => node.name.clone(),
    }
}

fn title(kind: &str) -> String {
    let mut letters = kind.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
