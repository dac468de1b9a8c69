//! Pictures of workflows, for documentation and debugging: Mermaid for Markdown pages, DOT for Graphviz.

mod dot;
mod marks;
mod mermaid;

pub use dot::{dot, dot_of_run};
pub use mermaid::{mermaid, mermaid_of_run};

use pleach_context::{EdgeOutline, GraphOutline, NodeKind, Outline};
use pleach_core::NodePath;

use marks::{Mark, Marks};

/// A graph that is being drawn: where it stands in the picture and, in one of a run, which run of it.
#[derive(Clone)]
struct Place<'m> {
    id: String,
    depth: usize,
    run: Option<(&'m Marks, NodePath)>,
}

impl<'m> Place<'m> {
    /// The node that is drawn, as the root of `run`'s invocation.
    fn root(outline: &Outline, marks: Option<&'m Marks>) -> Self {
        let run = marks.map(|marks| (marks, NodePath::root().child(&outline.name, "1")));
        Self { id: "n".to_owned(), depth: 1, run }
    }

    fn mark(&self, name: &str) -> Option<Mark> {
        let (marks, path) = self.run.as_ref()?;
        marks.mark(path, name)
    }

    /// The inside of a nested workflow. Of one that has not run, nothing is known.
    fn inside(&self, id: &str, mark: Option<&Mark>) -> Self {
        let run = self.run.as_ref().zip(mark).map(|((marks, _), mark)| (*marks, mark.path.clone()));
        Self { id: id.to_owned(), depth: self.depth + 1, run }
    }
}

/// Draws the root: its graph, or, of a node without one, the node itself.
fn framed(
    text: &mut String,
    outline: &Outline,
    marks: Option<&Marks>,
    draw: fn(&mut String, &Place<'_>, &GraphOutline),
    node: fn(&mut String, &Place<'_>, &str, &Outline, Option<&Mark>),
) {
    let place = Place::root(outline, marks);
    match &outline.graph {
        Some(graph) => draw(text, &place, graph),
        None => {
            let mark = marks.and_then(|marks| marks.mark(&NodePath::root(), &outline.name));
            node(text, &place, &place.id, outline, mark.as_ref());
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
