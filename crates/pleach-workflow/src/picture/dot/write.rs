//! [`write_dot`]: writes a drawing in the language of Graphviz, with the look that a theme gives it.

use std::fmt::Write as _;

use foldhash::HashMap;

use super::value::{DotValue, quoted_if_needed};
use crate::picture::drawing::{Drawing, DrawnEdge, DrawnNode, Element};

/// The names and values of attributes, in the order in which they are written.
pub type Attributes = Vec<(&'static str, DotValue)>;

/// The look of a picture in DOT.
pub trait DotTheme {
    /// Returns the way in which the text is laid out.
    fn format(&self) -> DotFormat;

    /// Returns the attributes at the top, each list with what it is for: `graph`, `node` or `edge`, or an empty text for
    /// the picture itself.
    fn defaults(&self) -> Vec<(&'static str, Attributes)>;

    /// Returns the attributes of a node.
    fn node(&self, node: &DrawnNode) -> Attributes;

    /// Returns the attributes of a group.
    fn group(&self, group: &DrawnNode) -> Attributes;

    /// Returns the attributes of an edge. The writer adds the ones for an end at the border of a group.
    fn edge(&self, edge: &DrawnEdge) -> Attributes;
}

/// The layout of a text in DOT.
#[derive(Clone, Copy, Debug)]
pub struct DotFormat {
    /// The lines up to the first brace.
    pub opening: &'static str,
    /// The space in front of a line, once for each level.
    pub indent: &'static str,
    /// The text between two attributes.
    pub separator: &'static str,
    /// Whether the attributes of a group come after its elements and not before them.
    pub has_group_attributes_last: bool,
}

/// Writes a drawing as a DOT digraph; groups are clusters.
#[must_use]
pub fn write_dot(drawing: &Drawing, theme: &dyn DotTheme) -> String {
    let mut writer = Writer { text: String::new(), theme, format: theme.format(), anchors: HashMap::default() };
    collect_anchors(drawing, &mut writer.anchors);
    writer.line(0, writer.format.opening);
    for (of, attributes) in theme.defaults() {
        writer.statement(1, of, &attributes);
    }
    writer.elements(drawing, 1);
    writer.line(0, "}");
    writer.text
}

struct Writer<'a> {
    text: String,
    theme: &'a dyn DotTheme,
    format: DotFormat,
    /// The first node of each group, by the group's id.
    anchors: HashMap<&'a str, &'a str>,
}

impl Writer<'_> {
    fn elements(&mut self, drawing: &Drawing, depth: usize) {
        for element in &drawing.elements {
            match element {
                Element::Node(node) => {
                    let attributes = self.theme.node(node);
                    self.statement(depth, &quoted_if_needed(&node.id), &attributes);
                }
                Element::Group(group, inside) => self.group(group, inside, depth),
                Element::Edge(edge) => self.edge(edge, depth),
            }
        }
    }

    fn group(&mut self, group: &DrawnNode, inside: &Drawing, depth: usize) {
        let attributes = self.theme.group(group);
        self.line(depth, &format!("subgraph {} {{", DotValue::from(cluster(&group.id))));
        if !self.format.has_group_attributes_last {
            self.statement(depth + 1, "", &attributes);
        }
        self.elements(inside, depth + 1);
        if self.format.has_group_attributes_last {
            self.statement(depth + 1, "", &attributes);
        }
        self.line(depth, "}");
    }

    fn edge(&mut self, edge: &DrawnEdge, depth: usize) {
        let mut attributes = self.theme.edge(edge);
        let from = self.end(&edge.from, "ltail", &mut attributes);
        let to = self.end(&edge.to, "lhead", &mut attributes);
        self.statement(depth, &format!("{from} -> {to}"), &attributes);
    }

    /// Returns the end of an edge. DOT has no edges between clusters: an edge connects nodes inside them and is clipped at
    /// the border.
    fn end(&self, id: &str, side: &'static str, attributes: &mut Attributes) -> String {
        let anchor = self.anchors.get(id);
        if anchor.is_some() {
            attributes.push((side, cluster(id).into()));
        }
        quoted_if_needed(anchor.copied().unwrap_or(id)).into_owned()
    }

    /// Writes what a statement is about and its attributes. Attributes without a subject apply to the group around them.
    fn statement(&mut self, depth: usize, subject: &str, attributes: &[(&str, DotValue)]) {
        let pairs: Vec<String> = attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let pairs = pairs.join(self.format.separator);
        match (subject, pairs.as_str()) {
            ("", "") => {}
            ("", pairs) => self.line(depth, pairs),
            (subject, "") => self.line(depth, subject),
            (subject, pairs) => self.line(depth, &format!("{subject} [{pairs}]")),
        }
    }

    fn line(&mut self, depth: usize, what: &str) {
        writeln!(self.text, "{}{what}", self.format.indent.repeat(depth)).expect("a String takes any text");
    }
}

fn cluster(id: &str) -> String {
    format!("cluster_{id}")
}

/// Adds the groups of a drawing that have a node inside.
fn collect_anchors<'a>(drawing: &'a Drawing, anchors: &mut HashMap<&'a str, &'a str>) {
    for element in &drawing.elements {
        if let Element::Group(group, inside) = element {
            anchors.extend(first_node(inside).map(|first| (group.id.as_str(), first)));
            collect_anchors(inside, anchors);
        }
    }
}

fn first_node(drawing: &Drawing) -> Option<&str> {
    drawing.elements.iter().find_map(|element| match element {
        Element::Node(node) => Some(node.id.as_str()),
        Element::Group(_, inside) => first_node(inside),
        Element::Edge(_) => None,
    })
}
