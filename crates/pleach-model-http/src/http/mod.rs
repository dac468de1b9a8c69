//! The HTTP client of all providers: requests, limits, bodies, and failures.

mod body;
mod client;
mod events;
mod failure;
mod halves;
mod headers;
mod limits;
mod outgoing;
mod reason;
mod stream_text;
mod weight;

pub(crate) use client::Http;
pub(crate) use events::{Events, Interruption};
pub(crate) use failure::Failure;
pub(crate) use headers::{Headers, Key};
pub(crate) use limits::{Limits, TimeLimit};
pub(crate) use outgoing::{Outgoing, Target};
