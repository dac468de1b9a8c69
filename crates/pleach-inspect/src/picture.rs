//! [`Picture`]: a workflow as boxes and lines with places, ready to be drawn.

mod draw;
mod layers;
mod model;
mod place;
mod svg;

use pleach_context::Outline;

pub use model::{BoxKind, Picture, PictureBox, PictureEdge};

use crate::RunTree;

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
