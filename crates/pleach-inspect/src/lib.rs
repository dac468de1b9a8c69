//! Shows people what the events of a session say: pure functions from a log to plain data.
//!
//! - [`timeline`] reads what each event says, calls, outputs and sets;
//! - [`invocations`] lists the user's turns, and [`RunTree`] shows one of them as a tree of node runs, with attempts,
//!   times, and the runs that each answer executed or replayed;
//! - [`state_history`] shows each key of the state with the events that changed it;
//! - [`observed_outline`] reads from a log which nodes ran in which order, and [`Picture`] draws such an outline or the
//!   outline of a workflow.
//!
//! The crate reads neither a clock nor a store, and makes no decisions: engines read
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
