//! A picture as plain data.

use pleach_core::NodePath;
use pleach_workflow::RunStatus;
use serde::Serialize;

/// A workflow as boxes and lines. Lengths are in pixels; the origin is the upper left corner of the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// The width of the picture.
    pub width: f64,
    /// The height of the picture.
    pub height: f64,
    /// The boxes. A group comes before the boxes inside it.
    pub boxes: Vec<PictureBox>,
    /// The lines between the boxes.
    pub edges: Vec<PictureEdge>,
}

/// A node, or the start of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureBox {
    /// The left edge.
    pub x: f64,
    /// The upper edge.
    pub y: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// The kind of the box.
    pub kind: BoxKind,
    /// The name of the node.
    pub name: String,
    /// The status of the node's last run; `None` if the node has not run.
    pub status: Option<RunStatus>,
    /// The number of runs, the failed attempts and the time, in words.
    pub detail: String,
    /// The path of the node's last run.
    pub path: Option<NodePath>,
}

/// The kind of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxKind {
    /// The start of a graph.
    Start,
    /// A node.
    Node,
    /// A node that waits for all its predecessors.
    Join,
    /// A workflow, with its nodes inside.
    Group,
}

/// A line from one box to another, with an arrow at its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PictureEdge {
    /// The corners of the line, from its start to its end.
    pub points: Vec<(f64, f64)>,
    /// The routes that lead along the line.
    pub label: Option<String>,
}
