//! What a caller asks for, and why a run has no result.
//!
//! Plain data: nothing here reads a session. Begin with `request.rs`.

pub(crate) mod error;
pub(crate) mod message;
pub(crate) mod run_request;
