//! Pictures of workflows, for documentation and debugging: Mermaid for Markdown pages, DOT for Graphviz.

mod dot;
mod mermaid;

pub use dot::dot;
pub use mermaid::mermaid;

use pleach_context::{EdgeOutline, NodeKind, Outline};

/// The text on an edge: its routes.
fn label(edge: &EdgeOutline) -> Option<String> {
    let routes: Vec<String> = edge.on.iter().map(|key| key.to_string()).collect();
    (!routes.is_empty()).then(|| routes.join(", "))
}

/// The id of a node below the graph with this id: unique in the picture, and safe in both languages.
fn below(graph: &str, place: usize) -> String {
    format!("{graph}_{place}")
}

/// The id of a graph's START.
fn start(graph: &str) -> String {
    format!("{graph}_start")
}

/// Whether the node is drawn with the nodes inside of it.
fn is_group(node: &Outline) -> bool {
    node.kind == NodeKind::Workflow && node.graph.is_some()
}

#[cfg(test)]
mod tests;
