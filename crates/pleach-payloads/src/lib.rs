//! Payloads: large values of events kept as artifacts, so that the rows of events stay small.
//!
//! This crate owns [`PayloadSessions`], a session service over any session service and any artifact service: the choice
//! of values that it takes out of an event before the event is stored, the references that are stored instead, and the
//! way back. It stores nothing itself, and never touches state, questions or answers.

mod load;
mod note;
mod place;
mod redact;
mod service;
mod size;
mod take;
mod vault;

pub use service::PayloadSessions;
