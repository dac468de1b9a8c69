//! Tests of the command, with databases that the tests fill.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod answers;
mod copies;
mod graphs;
mod looks;
mod program;
mod projects;
mod redactions;
mod serves;
