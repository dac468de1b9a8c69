//! The HTTP client under all providers: what is sent, how long it may take, how much may come back.

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
