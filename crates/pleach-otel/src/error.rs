//! [`OtelError`]: why telemetry is not set up, or did not reach its exporter.

use std::fmt;

use opentelemetry_otlp::ExporterBuildError;
use pleach_core::SetupError;

/// A kind of telemetry, which has an exporter of its own.
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
    /// An environment variable asks for something that this build does not have.
    #[error(
        "the environment variable {variable} is `{value}`, and this build knows {known}: pass an exporter of your own, or unset it"
    )]
    Environment {
        /// Its name.
        variable: String,
        /// Its value.
        value: String,
        /// The values that are known.
        known: &'static str,
    },
    /// The OTLP exporter cannot be made: an address or a time-out in a variable `OTEL_EXPORTER_OTLP_…` is wrong, for example.
    #[error("the OTLP exporter of {signal} cannot be made: {cause}")]
    Exporter {
        /// The signal that it exports.
        signal: Signal,
        /// The cause.
        cause: ExporterBuildError,
    },
    /// The program has set a subscriber before.
    #[error(
        "a subscriber of `tracing` is set already: add `Otel::layer` to that one, and call `build` in place of `install`"
    )]
    SubscriberIsSet,
    /// What was left could not be exported.
    #[error("{signal} could not be exported at the end: {reason}")]
    Shutdown {
        /// What is lost.
        signal: Signal,
        /// The exporter's reason.
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
