//! The types with which a caller requests a run, and the error of a run without a result.
//!
//! These types are plain data: nothing here reads a session. `retry.rs` classifies the errors for schedulers. Begin with `run_request.rs`.

pub(crate) mod error;
pub(crate) mod message;
pub(crate) mod question_ref;
pub(crate) mod retry;
pub(crate) mod run_request;
