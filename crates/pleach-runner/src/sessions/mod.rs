//! Inspects and changes sessions without sending a message.
//!
//! Only `unfinished.rs` and `fork.rs` start runs; `status.rs` replays without running a body. `run_place.rs`, `resting_fork.rs`,
//! `program.rs` and `ended_sessions.rs` hold what several of them use.

pub(crate) mod abort;
pub(crate) mod ended_sessions;
pub(crate) mod fork;
pub(crate) mod inbox;
pub(crate) mod program;
pub(crate) mod redact;
pub(crate) mod resting_fork;
pub(crate) mod rewind;
pub(crate) mod run_place;
pub(crate) mod status;
pub(crate) mod unfinished;
