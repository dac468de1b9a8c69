//! Sends requests, and turns answers into results for the model.

mod clean;
mod client;
mod headers;
mod response;

pub(crate) use clean::clean_text;
pub(crate) use client::{Answer, Client, Limits};
pub(crate) use headers::{HeaderProvider, set_header};
pub(crate) use response::{error, result};
