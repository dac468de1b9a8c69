//! Traces and metrics of pleach over OpenTelemetry.
//!
//! [`Otel`] sends the telemetry of `pleach_context::telemetry` to exporters: its spans, with all parts of an invocation
//! in one trace, and metrics from the same spans. Because both have the same source, traces and metrics never disagree.
//! A program that does not use this crate has no cost. `docs/tracing.md` has the tables of spans and metrics.

mod builder;
mod environment;
mod error;
mod metrics;
mod otel;
mod trace;

pub use builder::OtelBuilder;
pub use error::{OtelError, Signal};
pub use otel::Otel;
pub use trace::{InvocationIds, join_trace};

pub use {opentelemetry, opentelemetry_sdk};
