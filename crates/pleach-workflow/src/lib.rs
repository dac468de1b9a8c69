//! Runs nodes and graphs of nodes.
//!
//! This crate owns the engine:
//! - [`FunctionNode`] and [`FunctionTool`] wrap handlers.
//! - [`Workflow`] orchestrates a graph.
//! - A node run drives one node from its first attempt to its last event.
//! - [`Engine`] runs dynamic children and decides what a resume replays.
//!
//! The crate stores nothing: events leave through the invocation's queue.

mod approval;
mod engine;
mod function;
mod graph;
mod join;
mod parallel_worker;
mod picture;
mod tool;
mod workflow;

pub use engine::{Engine, TransferStep, transfer_step};
pub use function::marker;
pub use function::{Blocking, FunctionNode, Handler, IntoYield, Output, ResultWhoseErrorIsNotSerializable, Shape};
pub use graph::{BuildError, EdgeRoute, Fault, NodeRef, START, Source, Sources, Start, Targets, WorkflowBuilder};
pub use join::JoinNode;
pub use parallel_worker::ParallelWorker;
pub use picture::{
    NodeSummary, RunStatus, RunStatuses, RunSummary, dot, dot_of_run, mermaid, mermaid_of_run, run_status,
};
pub use tool::{
    Args, Callback, Called, FunctionTool, ToolCall, ToolCallbacks, ToolHandler, ToolNode, ToolParam, ToolParams,
    ToolReply, Unbound, confirmation_gate, tool,
};
pub use workflow::Workflow;

/// Items for sibling crates: the model of a picture and what writes it. Nothing here is covered by the promise of
/// compatibility.
#[doc(hidden)]
pub mod internal {
    pub use crate::picture::{
        Attributes, DotFormat, DotTheme, DotValue, Drawing, DrawnEdge, DrawnKind, DrawnNode, EdgeKind, Element, colour,
        escape_markup, write_dot,
    };
}
