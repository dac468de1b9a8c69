//! [`OtelError`]: the reasons why telemetry was not set up, or did not reach its exporter.

use std::fmt;

use opentelemetry_otlp::ExporterBuildError;
use pleach_core::SetupError;

/// A kind of telemetry. Each kind has its own exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
}

/// Why telemetry is not set up, or did not reach its exporter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtelError {
    /// An environment variable requires something that this build does not have.
    #[error(
        "the environment variable {variable} is `{value}`, but this build only knows {known}: pass your own exporter, or unset the variable"
    )]
    Environment {
        /// The name of the variable.
        variable: String,
        /// The value of the variable.
        value: String,
        /// The known values.
        known: &'static str,
    },
    /// The OTLP exporter cannot be created, for example because an address or a timeout in a variable
    /// `OTEL_EXPORTER_OTLP_…` is wrong.
    #[error("the OTLP exporter for {signal} cannot be created: {cause}")]
    Exporter {
        /// The signal of the exporter.
        signal: Signal,
        /// The cause.
        cause: ExporterBuildError,
    },
    /// The program has already set a subscriber.
    #[error("a subscriber of `tracing` is already set: add `Otel::layer` to it, and call `build` instead of `install`")]
    SubscriberIsSet,
    /// The remaining telemetry could not be exported.
    #[error("{signal} could not be exported at the end: {reason}")]
    Shutdown {
        /// The signal whose data is lost.
        signal: Signal,
        /// The reason of the exporter.
        reason: String,
    },
}

impl SetupError for OtelError {}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        })
    }
}
