//! The graph of a workflow: built by `builder` into a `draft`, checked by `validate`, and run as `compiled`.

mod builder;
mod compiled;
mod dead_ends;
mod draft;
mod edge;
mod error;
mod handle;
mod validate;

pub use builder::WorkflowBuilder;
pub use edge::EdgeRoute;
pub use error::{BuildError, Fault};
pub use handle::{NodeRef, START, Source, Sources, Start, Targets};

pub(crate) use compiled::{Graph, Join};
pub(crate) use edge::Edge;
