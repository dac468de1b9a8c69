//! Messages of programs to a run.
//!
//! `send.rs` decides: it answers a wait, hands the signal to the run, or keeps it. `during_run.rs` is the run's side.

pub(crate) mod during_run;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod send;
