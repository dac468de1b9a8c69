//! The look that google-adk gives to the levels of an app.
// H106

use std::collections::HashMap;

use pleach_context::NodeKind;
use pleach_core::RouteKey;
use pleach_workflow::internal::{
    Attributes, DotFormat, DotTheme, DotValue, DrawnEdge, DrawnKind, DrawnNode, EdgeKind, escape_markup,
};

/// The name of the end in graphs.
pub(super) const END: &str = "__END__";

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

/// The look of a level.
pub(super) struct WorkflowTheme {
    look: &'static Look,
    branches: HashMap<String, Branches>,
}

/// How the routes of a node decide what runs next.
pub(super) enum Branches {
    /// Each route that the node can set leads somewhere.
    Complete,
    /// A route that no edge names leads nowhere.
    LackDefault,
}

impl WorkflowTheme {
    /// Returns the look of a level. `branches` has the nodes that choose among routes, by name.
    pub(super) fn new(is_dark: bool, branches: HashMap<String, Branches>) -> Self {
        Self { look: if is_dark { &DARK } else { &LIGHT }, branches }
    }
}

impl DotTheme for WorkflowTheme {
    fn format(&self) -> DotFormat {
        let opening = "// Workflow Visualization\ndigraph {";
        DotFormat { opening, indent: "\t", separator: " ", has_group_attributes_last: true }
    }

    fn defaults(&self) -> Vec<(&'static str, Attributes)> {
        let look = self.look;
        let of_graph = [
            ("bgcolor", look.background),
            ("fontname", "Helvetica"),
            ("nodesep", "0.5"),
            ("pad", "0.5"),
            ("ranksep", "0.8"),
            ("splines", "spline"),
        ];
        let of_nodes = [
            ("color", look.line),
            ("fillcolor", look.fill),
            ("fontcolor", look.text),
            ("fontname", "Helvetica"),
            ("fontsize", "12"),
            ("margin", "0.25,0.15"),
            ("penwidth", "1.5"),
            ("shape", "rect"),
            ("style", "rounded,filled"),
        ];
        let of_edges = [
            ("arrowhead", "vee"),
            ("arrowsize", "0.7"),
            ("color", look.edge),
            ("fontcolor", look.edge_text),
            ("fontname", "Helvetica"),
            ("fontsize", "10"),
            ("penwidth", "1.2"),
        ];
        vec![("graph", words(&of_graph)), ("node", words(&of_nodes)), ("edge", words(&of_edges))]
    }

    fn node(&self, node: &DrawnNode) -> Attributes {
        let look = self.look;
        let kind = match node.kind {
            DrawnKind::Start => return mark(&node.name, look.start, look.text),
            DrawnKind::End => return mark(&node.name, look.end, look.text),
            DrawnKind::Node(kind) => kind,
        };
        let branches = self.branches.get(&node.id);
        let mut attributes = vec![("label", label(node, kind, branches)), ("fillcolor", look.fill.into())];
        let tooltip = ("tooltip", tooltip(kind));
        attributes.extend(words(&match kind {
            _ if branches.is_some() => vec![
                ("height", "1.2"),
                ("margin", "0.0,0.0"),
                ("shape", "diamond"),
                ("style", "filled"),
                tooltip,
                ("width", "0.8"),
            ],
            NodeKind::Join => vec![("margin", "0.05,0.05"), ("shape", "oval"), ("style", "filled"), tooltip],
            NodeKind::Tool => vec![("style", "rounded,filled,dashed"), tooltip],
            _ => vec![("style", "rounded,filled"), tooltip],
        }));
        attributes
    }

    /// Returns nothing: a level has no groups.
    fn group(&self, _: &DrawnNode) -> Attributes {
        Vec::new()
    }

    fn edge(&self, edge: &DrawnEdge) -> Attributes {
        match edge.kind {
            EdgeKind::Tool => words(&[("color", self.look.edge), ("style", "dashed")]),
            _ if edge.to == END => Vec::new(),
            _ => {
                let routes = python_text(&edge.routes).map(|routes| format!("  {routes}"));
                vec![("label", routes.unwrap_or_default().into())]
            }
        }
    }
}

fn words(pairs: &[(&'static str, &'static str)]) -> Attributes {
    pairs.iter().map(|(name, value)| (*name, DotValue::from(*value))).collect()
}

/// Returns the attributes of the start or the end.
fn mark(label: &str, [color, fill]: [&'static str; 2], text: &'static str) -> Attributes {
    let mut attributes = vec![("label", label.to_owned().into())];
    attributes.extend(words(&[
        ("color", color),
        ("fillcolor", fill),
        ("fixedsize", "true"),
        ("fontcolor", text),
        ("fontname", "Helvetica-Bold"),
        ("shape", "oval"),
        ("style", "filled"),
        ("width", "0.9"),
    ]));
    attributes
}

/// Returns the label of a node: a symbol for its kind, and its name.
fn label(node: &DrawnNode, kind: NodeKind, branches: Option<&Branches>) -> DotValue {
    let sign = match kind {
        NodeKind::Agent => Some(('✦', "#42A5F5")),
        NodeKind::Workflow => Some(('⊷', "#9333EA")),
        NodeKind::Function => Some(('ƒ', "#10B981")),
        NodeKind::Join => Some(('⌵', "#F59E0B")),
        NodeKind::Tool => Some(('🔧', "#6B7280")),
        NodeKind::Plain => None,
    };
    let name = escape_markup(&node.name);
    let lacks_default = matches!(branches, Some(Branches::LackDefault));
    let warning = if lacks_default { "<br/><br/><FONT POINT-SIZE=\"10\">⚠️ [NO DEFAULT]</FONT>" } else { "" };
    match sign {
        Some((sign, color)) => {
            DotValue::Markup(format!("<FONT COLOR=\"{color}\" POINT-SIZE=\"14\">{sign}</FONT> {name}{warning}"))
        }
        None if lacks_default => DotValue::Markup(format!("{name}{warning}")),
        None => node.name.clone().into(),
    }
}

fn tooltip(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Agent => "Agent",
        NodeKind::Workflow => "Workflow",
        NodeKind::Function => "Function",
        NodeKind::Join => "Join",
        NodeKind::Tool => "Tool",
        NodeKind::Plain => "Node",
    }
}

/// Returns routes as Python prints them; `None` if there are none.
fn python_text(routes: &[RouteKey]) -> Option<String> {
    match routes {
        [] => None,
        [RouteKey::Str(text)] => Some(text.to_string()),
        [route] => Some(python_literal(route)),
        routes => Some(format!("[{}]", routes.iter().map(python_literal).collect::<Vec<_>>().join(", "))),
    }
}

fn python_literal(route: &RouteKey) -> String {
    match route {
        RouteKey::Str(text) => format!("'{text}'"),
        RouteKey::Int(number) => number.to_string(),
        RouteKey::Bool(true) => "True".to_owned(),
        RouteKey::Bool(false) => "False".to_owned(),
    }
}
