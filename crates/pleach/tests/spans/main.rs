//! Spans of invocations, node runs and tool calls: `docs/tracing.md`.
//!
//! The shape of the tree (which spans there are, their names, who is whose parent) is that of google-adk 2.13.0.

#![expect(clippy::unwrap_used, reason = "a test that panics says what is wrong")]

mod content;
mod ends;
mod questions;
mod recorder;
mod resume;
mod support;
mod tree;
