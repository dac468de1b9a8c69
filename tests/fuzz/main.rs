//! Fuzz tests: random state operations that are compared with a simple model, mutated input of every kind, and clients
//! that race each other.
//!
//! Each test is short and deterministic. `PLEACH_FUZZ_STEPS` sets its number of steps and `PLEACH_FUZZ_SEED` its seed.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

#[path = "../processes/database.rs"]
#[expect(dead_code, reason = "shared with the tests of several processes")]
mod database;
mod hostile;
mod model;
mod state;
mod storm;
mod strangers;
