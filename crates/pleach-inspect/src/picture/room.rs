//! [`Room`]: the limits of what a picture can show.

use pleach_context::{GraphOutline, Outline};

/// The most nodes and lines of a picture. More can neither be laid out quickly nor be read.
const MOST_NODES: usize = 1_000;
const MOST_EDGES: usize = 4_000;
/// The most pairs of runs that are compared to find which node follows which.
const MOST_STEPS: usize = 5_000_000;

/// Why a picture cannot be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The picture would show too much.
    #[error("the picture would have more than {most} {what}: look at the runs as a tree")]
    TooLarge {
        /// The thing that exceeds its limit: nodes, lines, or pairs of runs that follow each other.
        what: &'static str,
        /// The limit.
        most: usize,
    },
}

impl PictureError {
    /// Returns the code of the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "PictureTooLarge",
        }
    }
}

/// The contents of a picture so far, while it is being made.
#[derive(Debug, Default)]
pub(crate) struct Room {
    nodes: usize,
    edges: usize,
    steps: usize,
}

impl Room {
    /// Checks that an outline can be drawn.
    pub(crate) fn check(outline: &Outline) -> Result<(), PictureError> {
        let mut room = Self::default();
        let mut left: Vec<&GraphOutline> = outline.graph.iter().collect();
        while let Some(graph) = left.pop() {
            for node in &graph.nodes {
                room.node()?;
                left.extend(&node.graph);
            }
            graph.edges.iter().try_for_each(|_| room.edge())?;
        }
        Ok(())
    }

    pub(crate) fn node(&mut self) -> Result<(), PictureError> {
        more(&mut self.nodes, "nodes", MOST_NODES)
    }

    pub(crate) fn edge(&mut self) -> Result<(), PictureError> {
        more(&mut self.edges, "lines", MOST_EDGES)
    }

    pub(crate) fn step(&mut self) -> Result<(), PictureError> {
        more(&mut self.steps, "pairs of runs that follow each other", MOST_STEPS)
    }
}

fn more(count: &mut usize, what: &'static str, most: usize) -> Result<(), PictureError> {
    *count += 1;
    if *count > most { Err(PictureError::TooLarge { what, most }) } else { Ok(()) }
}
