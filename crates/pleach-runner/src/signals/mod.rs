//! Signals: messages that programs send to a run.
//!
//! `send.rs` is the sender's side: it answers a waiting question, passes the signal to the active run, or stores it for
//! later. `during_run.rs` is the run's side. `turns.rs` puts signals in order; the server uses it for its runs as well.

pub(crate) mod during_run;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod send;
pub(crate) mod turns;
