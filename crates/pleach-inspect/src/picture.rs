//! [`Picture`]: a workflow as boxes and lines with places, ready to be drawn.

mod draw;
mod layers;
mod place;
mod svg;

use pleach_context::Outline;
use pleach_core::NodePath;
use serde::Serialize;

use crate::{RunStatus, RunTree};

/// A workflow as boxes and lines. Lengths are pixels of a picture whose upper left corner is the origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// The width of the picture.
    pub width: f64,
    /// The height of the picture.
    pub height: f64,
    /// The boxes: a group before those inside it.
    pub boxes: Vec<PictureBox>,
    /// The lines between them.
    pub edges: Vec<PictureEdge>,
}

/// A node, or the start of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureBox {
    /// The left end.
    pub x: f64,
    /// The upper end.
    pub y: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// What it stands for.
    pub kind: BoxKind,
    /// The name of the node.
    pub name: String,
    /// How far its last run is; `None` when it has not run.
    pub status: Option<RunStatus>,
    /// Its runs, failed attempts and time, in words.
    pub detail: String,
    /// The path of its last run.
    pub path: Option<NodePath>,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxKind {
    /// The start of a graph.
    Start,
    /// A node.
    Node,
    /// A node that waits for all before it.
    Join,
    /// A workflow, with its nodes inside.
    Group,
}

/// A line from one box to another, with an arrow at its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureEdge {
    /// The corners of the line, from its begin to its end.
    pub points: Vec<(f64, f64)>,
    /// The routes on which it is followed.
    pub label: Option<String>,
}

impl Picture {
    /// Draws an outline; with the runs of an invocation, each node has the status, the number and the time of its runs.
    #[must_use]
    pub fn of(outline: &Outline, tree: Option<&RunTree>) -> Self {
        draw::picture(outline, tree)
    }

    /// Writes the picture as an SVG document, which needs nothing else: no script, no style sheet, no font.
    #[must_use]
    pub fn to_svg(&self) -> String {
        svg::document(self)
    }
}

#[cfg(test)]
mod tests;
