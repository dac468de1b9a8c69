//! The operations of OpenAPI documents under agents.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod agent;
mod documents;
mod server;
mod support;
