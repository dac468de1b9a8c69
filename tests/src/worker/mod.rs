//! The work of a process that appends to sessions which other processes append to as well.
//!
//! A [`Job`] names the work, [`work`] does it, and [`Report`]s are what it prints meanwhile. Everything a worker stores
//! follows from the id of the event ([`Step`]), so that a test can compute what the database must contain.
//! Starting and killing processes is the tests' business.

mod job;
mod report;
mod run;
mod step;

pub use job::{Job, OnStale};
pub use report::Report;
pub use run::{Parent, work};
pub use step::{COUNT, Step, new_session, own_count, place, replay};
