//! Pictures of workflows, for documentation and debugging: Mermaid for Markdown pages, DOT for Graphviz.

mod dot;
mod mermaid;
mod run_summary;

pub use dot::{dot, dot_of_run};
pub use mermaid::{mermaid, mermaid_of_run};

use pleach_context::{EdgeOutline, GraphOutline, NodeKind, Outline};
use pleach_core::NodePath;

use run_summary::{NodeSummary, RunSummary};

/// A graph that is being drawn: where it stands in the picture and, in one of a run, which run of it.
#[derive(Clone)]
struct DrawnGraph<'m> {
    id: String,
    depth: usize,
    run: Option<(&'m RunSummary, NodePath)>,
}

impl<'m> DrawnGraph<'m> {
    /// The node that is drawn, as the root of `run`'s invocation.
    fn root(outline: &Outline, run: Option<&'m RunSummary>) -> Self {
        let run = run.map(|run| (run, NodePath::root().child(&outline.name, "1")));
        Self { id: "n".to_owned(), depth: 1, run }
    }

    fn summary(&self, name: &str) -> Option<NodeSummary> {
        let (run, path) = self.run.as_ref()?;
        run.summary(path, name)
    }

    /// The inside of a nested workflow. Of one that has not run, nothing is known.
    fn inside(&self, id: &str, summary: Option<&NodeSummary>) -> Self {
        let run = self.run.as_ref().zip(summary).map(|((run, _), summary)| (*run, summary.path.clone()));
        Self { id: id.to_owned(), depth: self.depth + 1, run }
    }
}

/// Draws the root: its graph, or, of a node without one, the node itself.
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
            let summary = run.and_then(|run| run.summary(&NodePath::root(), &outline.name));
            node(text, &place, &place.id, outline, summary.as_ref());
        }
    }
}

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
