//! OpenTelemetry: the spans and metrics that arrive at exporters in memory. `docs/tracing.md` has the tables.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod collector;
mod metrics;
mod questions;
mod setup;
mod traces;
