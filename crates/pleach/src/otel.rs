//! OpenTelemetry: traces and metrics of runs, sent to a collector or to an exporter of your own.
//!
//! `docs/tracing.md` lists the spans and the metrics and describes the set-up.

pub use pleach_otel::{
    InvocationIds, Otel, OtelBuilder, OtelError, Signal, join_trace, opentelemetry, opentelemetry_sdk,
};
