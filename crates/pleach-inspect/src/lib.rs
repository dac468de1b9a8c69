//! Prepares the log of a session for people: pure functions from events to plain data.
//!
//! - [`timeline`] lists the events, each with its messages, calls, outputs and state changes;
//! - [`invocations`] lists the invocations, and [`RunTree`] shows the node runs of one invocation as a tree, with their
//!   attempts and times, and whether each turn executed or replayed them;
//! - [`state_history`] shows each key of the state with the events that changed it;
//! - [`observed_outline`] shows in which order the nodes of an invocation ran, and [`Picture`] draws such an outline or
//!   the outline of a workflow.
//!
//! The crate reads neither a clock nor a store. Nothing decides by its results: engines read
//! [`History`](pleach_context::History) themselves.

mod fact;
mod invocations;
mod observed;
mod picture;
mod run_tree;
mod state_history;
mod timeline;
mod turns;

pub use fact::Fact;
pub use invocations::{InvocationSummary, invocations};
pub use observed::observed_outline;
pub use picture::{BoxKind, Picture, PictureBox, PictureEdge, PictureError};
pub use run_tree::{Attempt, NodeRun, RunTree, TurnWork, Work};
pub use state_history::{StateChange, StateKey, state_history};
pub use timeline::{TimelineEntry, timeline, timeline_at};
pub use turns::{Turn, turns};

pub use pleach_workflow::{NodeSummary, RunStatus, RunSummary};
