//! Payloads: large values of events kept as artifacts, so that the rows of events stay small.
//!
//! Owns [`PayloadSessions`], a session service over any session service and any artifact service: what it takes out of an event before
//! the event is stored, the reference that is stored instead, and the way back. It stores nothing itself, and never
//! touches state, questions or answers.

mod load;
mod note;
mod place;
mod redact;
mod service;
mod size;
mod take;
mod vault;

pub use service::PayloadSessions;
