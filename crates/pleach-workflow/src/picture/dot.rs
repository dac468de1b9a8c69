//! Graphviz digraphs.

use std::fmt::Write as _;

use pleach_context::{GraphOutline, NodeKind, Outline};

use super::{below, is_group, label, start};

/// Draws a node as a DOT digraph; nested workflows are clusters.
///
/// START is a circle, a join a hexagon, a routed edge carries its routes. An edge out of or into a nested workflow ends at
/// the border of its cluster.
#[must_use]
pub fn dot(outline: &Outline) -> String {
    let mut text = String::from("digraph {\n  compound=true\n  node [shape=box, style=rounded]\n");
    match &outline.graph {
        Some(graph) => draw(&mut text, "n", graph, 1),
        None => node(&mut text, "n", outline, 1),
    }
    text.push_str("}\n");
    text
}

fn draw(text: &mut String, id: &str, graph: &GraphOutline, depth: usize) {
    line(text, depth, format_args!("{} [label=\"START\", shape=circle]", start(id)));
    for (place, inner) in graph.nodes.iter().enumerate() {
        let id = below(id, place);
        match &inner.graph {
            Some(nested) if is_group(inner) => {
                line(text, depth, format_args!("subgraph cluster_{id} {{"));
                line(text, depth + 1, format_args!("label=\"{}\"", inner.name));
                draw(text, &id, nested, depth + 1);
                line(text, depth, format_args!("}}"));
            }
            _ => node(text, &id, inner, depth),
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
            // DOT has no edges between clusters: they run between nodes inside and are cut off at the border.
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

fn node(text: &mut String, id: &str, outline: &Outline, depth: usize) {
    let shape = if outline.kind == NodeKind::Join { ", shape=hexagon" } else { "" };
    line(text, depth, format_args!("{id} [label=\"{}\"{shape}]", outline.name));
}

fn line(text: &mut String, depth: usize, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{:1$}{what}", "", depth * 2).expect("a String takes any text");
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}
