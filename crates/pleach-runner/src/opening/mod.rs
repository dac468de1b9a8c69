//! Opens a request and begins its invocation.
//!
//! Loads the session, checks the message, decides once how the run starts, and stores the message. Read `open.rs`,
//! `start.rs` and then `begin.rs`. `works_elsewhere.rs` refuses a request while another process works on the session. In
//! apps that have enabled it, `close_confirmations.rs` may store events before that.

pub(crate) mod admission;
pub(crate) mod agent_to_run;
pub(crate) mod begin;
pub(crate) mod close_confirmations;
pub(crate) mod open;
pub(crate) mod open_task;
pub(crate) mod progress;
pub(crate) mod start;
pub(crate) mod works_elsewhere;
