//! Bodies of requests: reads them within limits, checks them against their shapes, and reads them into types.
// H5, H6

mod census;
mod check;
#[cfg(feature = "dev")]
mod check_only;
mod event_words;
mod problem;
mod read;
mod requests;
mod schema;
mod shape;
mod tables;
mod typed;

pub(crate) use census::Lists;
#[cfg(feature = "dev")]
pub(crate) use check_only::CheckOnlyBody;
pub(crate) use problem::{Problem, Step};
pub(crate) use read::{Payload, declared_length};
#[cfg(feature = "dev")]
pub(crate) use requests::TelemetryBody;
pub(crate) use requests::{ArtifactBody, CreateBody, MemoryBody, RunBody, StateBody, UpdateBody};
#[cfg(feature = "inspect")]
pub(crate) use requests::{ForkBody, MoveBody};
pub(crate) use schema::{reference, schemas};
