//! Inspects and changes sessions without sending a message.
//!
//! Only `unfinished.rs` and `fork.rs` start runs; `status.rs` replays without running a body. `recover.rs` calls
//! `unfinished.rs` again and again, and `recovery_notes.rs` counts how often. `run_end_notes.rs` and `note_end.rs` keep in
//! the log how a run ended. `run_place.rs`, `resting_fork.rs`, `program.rs`, `ended_sessions.rs` and `left_sessions.rs`
//! hold what several of them use.

pub(crate) mod abort;
pub(crate) mod ended_sessions;
pub(crate) mod fork;
pub(crate) mod inbox;
pub(crate) mod left_sessions;
pub(crate) mod note_end;
pub(crate) mod program;
pub(crate) mod recover;
pub(crate) mod recovery_notes;
pub(crate) mod redact;
pub(crate) mod resting_fork;
pub(crate) mod rewind;
pub(crate) mod run_end_notes;
pub(crate) mod run_place;
pub(crate) mod status;
pub(crate) mod unfinished;
