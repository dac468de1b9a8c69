//! Bodies of requests: read within limits, checked against their shapes, and read into types.
// H5, H6

mod census;
mod check;
mod event_words;
mod problem;
mod read;
mod requests;
mod schema;
mod shape;
mod tables;
mod typed;
#[cfg(feature = "dev")]
mod unkept;

pub(crate) use census::Lists;
pub(crate) use problem::{Problem, Step};
pub(crate) use read::{Payload, declared_length};
#[cfg(feature = "dev")]
pub(crate) use requests::TelemetryBody;
pub(crate) use requests::{ArtifactBody, CreateBody, MemoryBody, RunBody, StateBody, UpdateBody};
#[cfg(feature = "inspect")]
pub(crate) use requests::{ForkBody, MoveBody};
pub(crate) use schema::{reference, schemas};
#[cfg(feature = "dev")]
pub(crate) use unkept::Unkept;
