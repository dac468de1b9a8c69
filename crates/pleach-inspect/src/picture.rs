//! [`Picture`]: a workflow as boxes and lines with coordinates, ready to be drawn.

mod layers;
mod layout;
mod model;
mod place;
mod room;
mod svg;

pub use model::{BoxKind, Picture, PictureBox, PictureEdge};
use pleach_context::Outline;

use pleach_workflow::RunSummary;
use pleach_workflow::internal::Drawing;

pub use room::PictureError;
pub(crate) use room::Room;

impl Picture {
    /// Draws an outline. If the runs of an invocation are given, each node shows the status, the number and the time of
    /// its runs.
    ///
    /// # Errors
    /// [`PictureError::TooLarge`] for an outline of too many nodes or lines.
    pub fn of(outline: &Outline, runs: Option<&RunSummary>) -> Result<Self, PictureError> {
        Room::check(outline)?;
        Ok(layout::lay_out(&Drawing::of(outline, runs)))
    }

    /// Writes the picture as an SVG document, which needs no script, style sheet or font.
    #[must_use]
    pub fn to_svg(&self) -> String {
        svg::document(self)
    }
}

#[cfg(test)]
mod tests;
