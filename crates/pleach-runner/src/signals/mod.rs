//! Signals: messages of programs to a run.
//!
//! `send.rs` is the sender's side: it answers a waiting question, hands the signal to the active run, or keeps it. `during_run.rs`
//! is the run's side. `turns.rs` puts them in order, and the runs of the server.

pub(crate) mod during_run;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod send;
pub(crate) mod turns;
