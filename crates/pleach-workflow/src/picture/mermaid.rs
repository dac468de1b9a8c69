//! Mermaid flowcharts.

use std::fmt::Write as _;
use std::sync::Arc;

use pleach_context::{GraphOutline, NodeKind, Outline};
use pleach_core::{Event, InvocationId};

use super::{DrawnGraph, NodeSummary, RunSummary, below, framed, is_group, label, start};

/// Draws a node as a Mermaid flowchart; nested workflows are subgraphs.
///
/// START is a circle, a join a hexagon, a routed edge carries its routes.
#[must_use]
pub fn mermaid(outline: &Outline) -> String {
    picture(outline, None)
}

/// Draws the progress of an invocation of a root node: at each node its status, number of runs, failed attempts and
/// duration in seconds. Reads the session's `events` and skips the events of other invocations.
#[must_use]
pub fn mermaid_of_run(outline: &Outline, events: &[Arc<Event>], invocation: &InvocationId) -> String {
    picture(outline, Some(&RunSummary::of(events, invocation)))
}

fn picture(outline: &Outline, run: Option<&RunSummary>) -> String {
    let mut text = String::from("flowchart TD\n");
    framed(&mut text, outline, run, draw, node);
    text
}

fn draw(text: &mut String, at: &DrawnGraph<'_>, graph: &GraphOutline) {
    let (id, depth) = (&at.id, at.depth);
    line(text, depth, format_args!("{}((START))", start(id)));
    for (place, inner) in graph.nodes.iter().enumerate() {
        let (id, summary) = (below(id, place), at.summary(&inner.name));
        match &inner.graph {
            Some(nested) if is_group(inner) => {
                line(text, depth, format_args!("subgraph {id}[\"{}\"]", titled(inner, summary)));
                draw(text, &at.inside(&id, summary), nested);
                line(text, depth, format_args!("end"));
            }
            _ => node(text, at, &id, inner, summary),
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

fn node(text: &mut String, at: &DrawnGraph<'_>, id: &str, outline: &Outline, summary: Option<&NodeSummary>) {
    let title = titled(outline, summary);
    match outline.kind {
        NodeKind::Join => line(text, at.depth, format_args!("{id}{{{{\"{title}\"}}}}")),
        _ => line(text, at.depth, format_args!("{id}[\"{title}\"]")),
    }
    if let Some(summary) = summary {
        line(text, at.depth, format_args!("style {id} fill:{}", summary.colour()));
    }
}

/// Returns the title of a node. Its name is escaped, because the name in a stored run can be any text.
fn titled(outline: &Outline, summary: Option<&NodeSummary>) -> String {
    let name = escaped(&outline.name);
    match summary {
        Some(summary) => format!("{name}<br/>{}", summary.text()),
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
