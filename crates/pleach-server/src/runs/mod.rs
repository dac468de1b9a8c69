//! Runs of agents for requests: what is asked, who may run, and the task that drives a run for its client.

mod drive;
mod failure;
mod prepare;
mod slots;
mod turns;

pub(crate) use drive::{RunEvents, start};
pub(crate) use failure::Failure;
#[cfg(feature = "inspect")]
pub(crate) use prepare::prepare_detached;
pub(crate) use prepare::{Prepared, prepare};
pub(crate) use slots::RunSlots;
pub(crate) use turns::Turns;
