//! Makes the [`Drawing`] of an outline, with the runs of an invocation at the nodes.

use pleach_context::{EdgeOutline, GraphOutline, NodeKind, Outline};
use pleach_core::NodePath;

use super::drawing::{Drawing, DrawnEdge, DrawnKind, DrawnNode, EdgeKind, Element};
use super::{NodeSummary, RunSummary};

/// The runs of an invocation, and the path of the run that the nodes of a graph ran below.
type Runs<'r> = Option<(&'r RunSummary, NodePath)>;

impl Drawing {
    /// Draws the graph of an outline, or the node itself if it has none. Workflows inside are groups. If the runs of an
    /// invocation are given, each node gets its own.
    #[must_use]
    pub fn of(outline: &Outline, runs: Option<&RunSummary>) -> Self {
        match &outline.graph {
            Some(graph) if outline.kind != NodeKind::Agent || !graph.nodes.is_empty() => {
                draw(graph, "n", &runs.map(|runs| (runs, runs.root(&outline.name))))
            }
            _ => {
                let own = runs.and_then(|runs| runs.node(&NodePath::root(), &outline.name));
                Self { elements: vec![Element::Node(node(outline, "n", own))] }
            }
        }
    }
}

/// Draws a graph. The ids of its nodes begin with the id of the graph.
fn draw(graph: &GraphOutline, id: &str, runs: &Runs<'_>) -> Drawing {
    let start = || format!("{id}_start");
    let id_of = |place: usize| format!("{id}_{place}");
    let mut drawing = Drawing::default();
    drawing.add_node(DrawnNode::new(start(), "START", DrawnKind::Start));
    for (place, outline) in graph.nodes.iter().enumerate() {
        let own = own_runs(outline, runs);
        let node = node(outline, &id_of(place), own);
        let nested = outline.graph.as_ref().filter(|_| outline.kind == NodeKind::Workflow);
        drawing.elements.push(match nested {
            Some(nested) => {
                let below = runs.as_ref().zip(own).map(|((runs, _), own)| (*runs, own.path.clone()));
                let inside = draw(nested, &node.id, &below);
                Element::Group(node, inside)
            }
            None => Element::Node(node),
        });
    }
    for EdgeOutline { from, to, on } in &graph.edges {
        let from = from.map_or_else(start, id_of);
        drawing.add_edge(DrawnEdge { routes: on.clone(), ..DrawnEdge::new(from, id_of(*to), EdgeKind::Next) });
    }
    drawing
}

fn node(outline: &Outline, id: &str, runs: Option<&NodeSummary>) -> DrawnNode {
    let node = DrawnNode::new(id, outline.name.as_str(), DrawnKind::Node(outline.kind));
    DrawnNode { runs: runs.cloned(), ..node }
}

/// Returns the runs of a node of a graph. An agent next to the nodes that it called represents the run above them.
fn own_runs<'r>(outline: &Outline, runs: &Runs<'r>) -> Option<&'r NodeSummary> {
    let (runs, parent) = runs.as_ref()?;
    let is_caller = outline.kind == NodeKind::Agent && outline.name == parent.name();
    let above = || runs.node(&parent.parent().unwrap_or_default(), &outline.name);
    runs.node(parent, &outline.name).or_else(|| is_caller.then(above).flatten())
}
