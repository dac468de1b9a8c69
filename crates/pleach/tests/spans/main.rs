//! Spans of invocations, node runs and tool calls: `docs/tracing.md`.
//!
//! The spans, their names and their parents are the same as in google-adk 2.13.0.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod content;
mod ends;
mod questions;
mod recorder;
mod resume;
mod support;
mod tree;
