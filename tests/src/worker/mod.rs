//! The work of a process that appends to sessions to which other processes append as well.
//!
//! A [`Job`] describes the work, [`work`] does it, and [`Report`]s are printed in the meantime. Everything that a worker stores
//! follows from the id of the event ([`Step`]), so a test can compute the expected contents of the database. The tests start
//! and kill the processes.

mod job;
mod report;
mod run;
mod step;

pub use job::{Job, OnStale};
pub use report::Report;
pub use run::{Parent, work};
pub use step::{COUNT, Step, new_session, own_count, place, replay};
