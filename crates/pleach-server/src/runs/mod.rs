//! Runs of agents for requests: reads the request, limits who may run, and drives the run in a task for its client.

mod drive;
mod failure;
mod prepare;
mod slots;
mod turns;

pub(crate) use drive::{RunEvents, start};
pub(crate) use failure::{Failure, no_session};
#[cfg(feature = "inspect")]
pub(crate) use prepare::prepare_detached;
pub(crate) use prepare::{Prepared, check_is_question, exists, prepare};
pub(crate) use slots::RunSlots;
pub(crate) use turns::{Turn, Turns};
