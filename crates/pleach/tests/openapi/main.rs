//! Agents that call the operations of OpenAPI documents.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod agent;
mod credentials;
mod documents;
mod left_out;
mod requests;
mod responses;
mod schemas;
mod secrets;
mod server;
mod servers;
mod sign_in;
mod support;
mod tokens;
