//! The work of a process that appends to sessions which other processes append to as well.
//!
//! A [`Job`] says what to do, [`work`] does it, and [`Told`] is what it says on the way. Everything a worker stores
//! follows from the id of the event ([`Step`]), so that whoever looks at the database afterwards knows what must be in
//! it. Starting and killing processes is the tests' business.

mod job;
mod run;
mod step;
mod told;

pub use job::{Job, OnStale};
pub use run::{Parent, work};
pub use step::{COUNT, Step, new_session, own_count, place, replay};
pub use told::Told;
