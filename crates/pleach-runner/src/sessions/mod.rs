//! The calls that inspect or change a session without a message.
//!
//! Only `unfinished.rs` and `fork.rs` start runs. `turns.rs` serves the server as well.

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
pub(crate) mod turns;
pub(crate) mod unfinished;
