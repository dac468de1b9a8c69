//! Payloads: large values of events kept as artifacts, so that the rows of events stay small.
//!
//! This crate owns [`PayloadSessions`], a session service over any session service and any artifact service. It
//! takes large values out of an event before the event is stored, stores references instead, and puts the values
//! back when a session is loaded. It keeps no data itself, and never touches state, questions or answers.

mod load;
mod note;
mod place;
mod redact;
mod service;
mod size;
mod take;
mod vault;

pub use service::PayloadSessions;
