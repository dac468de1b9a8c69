//! Mermaid flowcharts.

use std::fmt::Write as _;

use pleach_context::{GraphOutline, NodeKind, Outline};

use super::{below, is_group, label, start};

/// Draws a node as a Mermaid flowchart; nested workflows are subgraphs.
///
/// START is a circle, a join a hexagon, a routed edge carries its routes.
#[must_use]
pub fn mermaid(outline: &Outline) -> String {
    let mut text = String::from("flowchart TD\n");
    match &outline.graph {
        Some(graph) => draw(&mut text, "n", graph, 1),
        None => node(&mut text, "n", outline, 1),
    }
    text
}

fn draw(text: &mut String, id: &str, graph: &GraphOutline, depth: usize) {
    line(text, depth, format_args!("{}((START))", start(id)));
    for (place, inner) in graph.nodes.iter().enumerate() {
        let id = below(id, place);
        match &inner.graph {
            Some(nested) if is_group(inner) => {
                line(text, depth, format_args!("subgraph {id}[\"{}\"]", inner.name));
                draw(text, &id, nested, depth + 1);
                line(text, depth, format_args!("end"));
            }
            _ => node(text, &id, inner, depth),
        }
    }
    for edge in &graph.edges {
        let from = edge.from.map_or_else(|| start(id), |place| below(id, place));
        let to = below(id, edge.to);
        match label(edge) {
            Some(routes) => line(text, depth, format_args!("{from} -->|\"{}\"| {to}", escaped(&routes))),
            None => line(text, depth, format_args!("{from} --> {to}")),
        }
    }
}

fn node(text: &mut String, id: &str, outline: &Outline, depth: usize) {
    // Names are identifiers: they need no escape.
    match outline.kind {
        NodeKind::Join => line(text, depth, format_args!("{id}{{{{\"{}\"}}}}", outline.name)),
        _ => line(text, depth, format_args!("{id}[\"{}\"]", outline.name)),
    }
}

fn line(text: &mut String, depth: usize, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{:1$}{what}", "", depth * 2).expect("a String takes any text");
}

/// Mermaid's own form of the characters that would end a label.
fn escaped(label: &str) -> String {
    label.replace('#', "#35;").replace('"', "#quot;").replace('|', "#124;").replace('\n', " ")
}
