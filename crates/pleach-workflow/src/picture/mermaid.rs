//! Mermaid flowcharts.

use std::fmt::Write as _;
use std::sync::Arc;

use pleach_context::{NodeKind, Outline};
use pleach_core::{Event, InvocationId};

use super::drawing::{Drawing, DrawnEdge, DrawnKind, DrawnNode, Element};
use super::{RunSummary, colour};

/// Draws a node as a Mermaid flowchart; nested workflows are subgraphs.
///
/// START is a circle, a join a hexagon, a routed edge carries its routes.
#[must_use]
pub fn mermaid(outline: &Outline) -> String {
    write_mermaid(&Drawing::of(outline, None))
}

/// Draws the progress of an invocation of a root node: at each node its status, number of runs, failed attempts and
/// duration in seconds. Reads the session's `events` and skips the events of other invocations.
#[must_use]
pub fn mermaid_of_run(outline: &Outline, events: &[Arc<Event>], invocation: &InvocationId) -> String {
    write_mermaid(&Drawing::of(outline, Some(&RunSummary::of(events, invocation))))
}

fn write_mermaid(drawing: &Drawing) -> String {
    let mut text = String::from("flowchart TD\n");
    write_elements(&mut text, drawing, 1);
    text
}

fn write_elements(text: &mut String, drawing: &Drawing, depth: usize) {
    for element in &drawing.elements {
        match element {
            Element::Node(node) => write_node(text, node, depth),
            Element::Group(group, inside) => {
                line(text, depth, format_args!("subgraph {}[\"{}\"]", group.id, title(group)));
                write_elements(text, inside, depth + 1);
                line(text, depth, format_args!("end"));
            }
            Element::Edge(edge) => write_edge(text, edge, depth),
        }
    }
}

fn write_node(text: &mut String, node: &DrawnNode, depth: usize) {
    let (id, title) = (&node.id, title(node));
    match node.kind {
        DrawnKind::Start | DrawnKind::End => line(text, depth, format_args!("{id}(({title}))")),
        DrawnKind::Node(NodeKind::Join) => line(text, depth, format_args!("{id}{{{{\"{title}\"}}}}")),
        DrawnKind::Node(_) => line(text, depth, format_args!("{id}[\"{title}\"]")),
    }
    if let Some(runs) = &node.runs {
        line(text, depth, format_args!("style {id} fill:{}", colour(runs.status)));
    }
}

fn write_edge(text: &mut String, edge: &DrawnEdge, depth: usize) {
    let (from, to) = (&edge.from, &edge.to);
    match edge.label() {
        Some(routes) => line(text, depth, format_args!("{from} -->|\"{}\"| {to}", escaped(&routes))),
        None => line(text, depth, format_args!("{from} --> {to}")),
    }
}

/// Returns the title of a node. Its name is escaped, because the name in a stored run can be any text.
fn title(node: &DrawnNode) -> String {
    let name = escaped(&node.name);
    match &node.runs {
        Some(runs) => format!("{name}<br/>{}", runs.text()),
        None => name,
    }
}

fn line(text: &mut String, depth: usize, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{:1$}{what}", "", depth * 2).expect("a String takes any text");
}

/// Escapes the characters that would end a label.
fn escaped(label: &str) -> String {
    let label = label.replace(|character: char| character.is_control(), " ");
    label.replace('#', "#35;").replace('"', "#quot;").replace('|', "#124;").replace('<', "#lt;").replace('>', "#gt;")
}
