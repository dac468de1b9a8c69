//! The command on databases that the tests fill.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod copies;
mod looks;
mod program;
