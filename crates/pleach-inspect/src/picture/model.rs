//! A picture as plain data.

use pleach_core::NodePath;
use pleach_workflow::RunStatus;
use serde::Serialize;

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
    /// What it shows.
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

/// What a box shows.
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
