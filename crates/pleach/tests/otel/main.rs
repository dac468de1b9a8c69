//! OpenTelemetry: what arrives at exporters in memory. `docs/tracing.md` has the tables.

#![expect(clippy::unwrap_used, reason = "a test that panics says what is wrong")]

mod collector;
mod metrics;
mod questions;
mod setup;
mod traces;
