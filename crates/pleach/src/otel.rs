//! OpenTelemetry: traces and metrics of runs, to a collector or an exporter of one's own.
//!
//! `docs/tracing.md` has the spans, the metrics and the set-up.

pub use pleach_otel::{
    InvocationIds, Otel, OtelBuilder, OtelError, Signal, join_trace, opentelemetry, opentelemetry_sdk,
};
