//! Pictures of graphs, for documentation and debugging: Mermaid for Markdown pages, DOT for Graphviz. `pleach-inspect` lays
//! out the same [`Drawing`] for SVG.

mod dot;
mod drawing;
mod markup;
mod mermaid;
mod outline;
mod run_summary;
mod status;

pub use dot::{Attributes, DotFormat, DotTheme, DotValue, dot, dot_of_run, write_dot};
pub use drawing::{Drawing, DrawnEdge, DrawnKind, DrawnNode, EdgeKind, Element};
pub use markup::escape_markup;
pub use mermaid::{mermaid, mermaid_of_run};
pub use run_summary::{NodeSummary, RunSummary};
pub use status::{RunStatus, RunStatuses, colour, run_status};

#[cfg(test)]
mod tests;
