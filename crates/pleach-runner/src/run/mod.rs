//! One run, from its first poll to its end, and its followers.
//!
//! `task.rs` is what the readers of a run poll, `state.rs` and `stage.rs` are what others see of it, and `steps.rs` is the order of steps.
//! Readers hold the task, the task holds the future of the run, and the future holds the state.
//! `event_writer.rs` stores events and heartbeats; `heartbeat.rs` decides when a heartbeat is due.
//! `replay_result.rs` reads the recorded result of a run. Nothing outside of this folder polls a node.

pub(crate) mod abort_events;
pub(crate) mod agent_reply;
pub(crate) mod detached;
pub(crate) mod driver;
pub(crate) mod event_writer;
pub(crate) mod follow;
pub(crate) mod follow_options;
pub(crate) mod heartbeat;
pub(crate) mod join;
pub(crate) mod outcome;
pub(crate) mod question_count;
pub(crate) mod registry;
pub(crate) mod repeat_filter;
pub(crate) mod replay_result;
pub(crate) mod root_driver;
pub(crate) mod root_events;
pub(crate) mod run_event;
pub(crate) mod span;
pub(crate) mod stage;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod stop;
pub(crate) mod stream;
pub(crate) mod task;
