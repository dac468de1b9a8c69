//! Graphviz digraphs.

use std::fmt::Write as _;
use std::sync::Arc;

use pleach_context::{GraphOutline, NodeKind, Outline};
use pleach_core::{Event, InvocationId};

use super::{DrawnGraph, NodeSummary, RunSummary, below, framed, is_group, label, start};

/// Draws a node as a DOT digraph; nested workflows are clusters.
///
/// START is a circle, a join a hexagon, a routed edge carries its routes. An edge out of or into a nested workflow ends at
/// the border of its cluster.
#[must_use]
pub fn dot(outline: &Outline) -> String {
    picture(outline, None)
}

/// Draws the progress of an invocation of a root node: at each node its status, number of runs, failed attempts and
/// duration in seconds. Reads the session's `events` and skips the events of other invocations.
#[must_use]
pub fn dot_of_run(outline: &Outline, events: &[Arc<Event>], invocation: &InvocationId) -> String {
    picture(outline, Some(&RunSummary::of(events, invocation)))
}

fn picture(outline: &Outline, run: Option<&RunSummary>) -> String {
    let mut text = String::from("digraph {\n  compound=true\n  node [shape=box, style=rounded]\n");
    framed(&mut text, outline, run, draw, node);
    text.push_str("}\n");
    text
}

fn draw(text: &mut String, at: &DrawnGraph<'_>, graph: &GraphOutline) {
    let (id, depth) = (at.id.as_str(), at.depth);
    line(text, depth, format_args!("{} [label=\"START\", shape=circle]", start(id)));
    for (place, inner) in graph.nodes.iter().enumerate() {
        let (id, summary) = (below(id, place), at.summary(&inner.name));
        match &inner.graph {
            Some(nested) if is_group(inner) => {
                line(text, depth, format_args!("subgraph cluster_{id} {{"));
                line(text, depth + 1, format_args!("label=\"{}\"", titled(inner, summary)));
                draw(text, &at.inside(&id, summary), nested);
                line(text, depth, format_args!("}}"));
            }
            _ => node(text, at, &id, inner, summary),
        }
    }
    for edge in &graph.edges {
        let mut attributes = Vec::new();
        attributes.extend(label(edge).map(|routes| format!("label=\"{}\"", escaped(&routes))));
        let mut end = |place: usize, side: &str| {
            let id = below(id, place);
            if !is_group(&graph.nodes[place]) {
                return id;
            }
            // DOT has no edges between clusters: an edge connects nodes inside them and is clipped at the border.
            attributes.push(format!("{side}=cluster_{id}"));
            start(&id)
        };
        let from = edge.from.map_or_else(|| start(id), |place| end(place, "ltail"));
        let to = end(edge.to, "lhead");
        match attributes.join(", ") {
            none if none.is_empty() => line(text, depth, format_args!("{from} -> {to}")),
            some => line(text, depth, format_args!("{from} -> {to} [{some}]")),
        }
    }
}

fn node(text: &mut String, at: &DrawnGraph<'_>, id: &str, outline: &Outline, summary: Option<&NodeSummary>) {
    let shape = if outline.kind == NodeKind::Join { ", shape=hexagon" } else { "" };
    let fill = summary.map(|summary| format!(", style=\"rounded,filled\", fillcolor=\"{}\"", summary.colour()));
    let title = titled(outline, summary);
    line(text, at.depth, format_args!("{id} [label=\"{title}\"{shape}{}]", fill.unwrap_or_default()));
}

/// Returns the title of a node. Its name is escaped, because the name in a stored run can be any text.
fn titled(outline: &Outline, summary: Option<&NodeSummary>) -> String {
    let name = escaped(&outline.name);
    match summary {
        Some(summary) => format!("{name}\\n{}", summary.text()),
        None => name,
    }
}

fn line(text: &mut String, depth: usize, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{:1$}{what}", "", depth * 2).expect("a String takes any text");
}

fn escaped(label: &str) -> String {
    let label = label.replace(|character: char| character.is_control(), " ");
    label.replace('\\', "\\\\").replace('"', "\\\"")
}
