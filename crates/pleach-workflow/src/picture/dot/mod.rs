//! Graphviz digraphs: the writer of all of them, and the look of pleach's own.

mod value;
mod write;

pub use value::DotValue;
pub use write::{Attributes, DotFormat, DotTheme, write_dot};

use std::sync::Arc;

use pleach_context::{NodeKind, Outline};
use pleach_core::{Event, InvocationId};

use super::drawing::{Drawing, DrawnEdge, DrawnKind, DrawnNode};
use super::{RunSummary, colour};

/// Draws a node as a DOT digraph; nested workflows are clusters.
///
/// START is a circle, a join a hexagon, a routed edge carries its routes. An edge out of or into a nested workflow ends at
/// the border of its cluster.
#[must_use]
pub fn dot(outline: &Outline) -> String {
    write_dot(&Drawing::of(outline, None), &OwnTheme)
}

/// Draws the progress of an invocation of a root node: at each node its status, number of runs, failed attempts and
/// duration in seconds. Reads the session's `events` and skips the events of other invocations.
#[must_use]
pub fn dot_of_run(outline: &Outline, events: &[Arc<Event>], invocation: &InvocationId) -> String {
    write_dot(&Drawing::of(outline, Some(&RunSummary::of(events, invocation))), &OwnTheme)
}

/// The look of pleach's own pictures.
struct OwnTheme;

impl DotTheme for OwnTheme {
    fn format(&self) -> DotFormat {
        DotFormat { opening: "digraph {", indent: "  ", separator: ", ", has_group_attributes_last: false }
    }

    fn defaults(&self) -> Vec<(&'static str, Attributes)> {
        let of_nodes = vec![("shape", "box".into()), ("style", "rounded".into())];
        vec![("", vec![("compound", "true".into())]), ("node", of_nodes)]
    }

    fn node(&self, node: &DrawnNode) -> Attributes {
        let mut attributes = vec![("label", title(node))];
        match node.kind {
            DrawnKind::Start | DrawnKind::End => attributes.push(("shape", "circle".into())),
            DrawnKind::Node(NodeKind::Join) => attributes.push(("shape", "hexagon".into())),
            DrawnKind::Node(_) => {}
        }
        if let Some(runs) = &node.runs {
            attributes.extend([("style", "rounded,filled".into()), ("fillcolor", colour(runs.status).into())]);
        }
        attributes
    }

    fn group(&self, group: &DrawnNode) -> Attributes {
        vec![("label", title(group))]
    }

    fn edge(&self, edge: &DrawnEdge) -> Attributes {
        edge.label().map(|routes| ("label", DotValue::Text(one_line(&routes)))).into_iter().collect()
    }
}

/// Returns the title of a node: its name and, on a second line, its runs.
fn title(node: &DrawnNode) -> DotValue {
    let name = one_line(&node.name);
    DotValue::Text(match &node.runs {
        Some(runs) => format!("{name}\n{}", runs.text()),
        None => name,
    })
}

/// Puts a text on one line: a name or a route in a stored run can be any text.
fn one_line(text: &str) -> String {
    text.replace(|character: char| character.is_control(), " ")
}
