//! Pictures of workflows, for documentation and debugging: Mermaid for Markdown pages, DOT for Graphviz.

mod dot;
mod mermaid;
mod run_summary;
mod status;

pub use dot::{dot, dot_of_run};
pub use mermaid::{mermaid, mermaid_of_run};
pub use run_summary::{NodeSummary, RunSummary};
pub use status::{RunStatus, RunStatuses, run_status};

use pleach_context::{EdgeOutline, GraphOutline, NodeKind, Outline};
use pleach_core::NodePath;

/// A graph that is being drawn: its id and depth in the picture and, in a picture of an invocation, its run.
#[derive(Clone)]
struct DrawnGraph<'m> {
    id: String,
    depth: usize,
    run: Option<(&'m RunSummary, NodePath)>,
}

impl<'m> DrawnGraph<'m> {
    /// Returns the outermost graph, for the root of `run`'s invocation.
    fn root(outline: &Outline, run: Option<&'m RunSummary>) -> Self {
        let run = run.map(|run| (run, run.root(&outline.name)));
        Self { id: "n".to_owned(), depth: 1, run }
    }

    fn summary(&self, name: &str) -> Option<&'m NodeSummary> {
        let (run, path) = self.run.as_ref()?;
        run.node(path, name)
    }

    /// Returns the graph of a nested workflow; without a run if the workflow has not run.
    fn inside(&self, id: &str, summary: Option<&NodeSummary>) -> Self {
        let run = self.run.as_ref().zip(summary).map(|((run, _), summary)| (*run, summary.path.clone()));
        Self { id: id.to_owned(), depth: self.depth + 1, run }
    }
}

/// Draws the root: its graph, or the node itself if it has none.
fn framed(
    text: &mut String,
    outline: &Outline,
    run: Option<&RunSummary>,
    draw: fn(&mut String, &DrawnGraph<'_>, &GraphOutline),
    node: fn(&mut String, &DrawnGraph<'_>, &str, &Outline, Option<&NodeSummary>),
) {
    let place = DrawnGraph::root(outline, run);
    match &outline.graph {
        Some(graph) => draw(text, &place, graph),
        None => {
            let summary = run.and_then(|run| run.node(&NodePath::root(), &outline.name));
            node(text, &place, &place.id, outline, summary);
        }
    }
}

/// Returns the label of an edge: its routes.
fn label(edge: &EdgeOutline) -> Option<String> {
    let routes: Vec<String> = edge.on.iter().map(|key| key.to_string()).collect();
    (!routes.is_empty()).then(|| routes.join(", "))
}

/// Returns the id of a node of the graph with this id: unique in the picture, and valid in both languages.
fn below(graph: &str, place: usize) -> String {
    format!("{graph}_{place}")
}

/// Returns the id of a graph's START.
fn start(graph: &str) -> String {
    format!("{graph}_start")
}

/// Returns `true` if the node is drawn as a group with its inner nodes.
fn is_group(node: &Outline) -> bool {
    node.kind == NodeKind::Workflow && node.graph.is_some()
}

#[cfg(test)]
mod tests;
