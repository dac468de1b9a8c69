//! HTTP: encryption, limits, and what a model gets of an answer.

mod client;
mod headers;
mod response;
mod secrets;

pub(crate) use client::{Answer, Client, Limits};
pub(crate) use headers::{HeaderProvider, Headers};
pub(crate) use response::{error, result};
pub(crate) use secrets::Secrets;
