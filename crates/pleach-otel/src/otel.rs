//! [`Otel`]: exports traces and metrics while a program runs.

use std::sync::Arc;

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use pleach_runner::{Runner, RunnerBuilder};
use pleach_workflow::BuildError;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::metrics::{Metrics, MetricsLayer, measures};
use crate::{OtelError, Signal, join_trace};

/// Traces and metrics of a program over OpenTelemetry.
///
/// Create it once, near the beginning of the program, and keep it until the end. Call [`shutdown`](Self::shutdown) to
/// send the remaining telemetry; dropping the value sends it as well.
///
/// # Example
/// ```no_run
/// # use pleach_otel::Otel;
/// # use pleach_runner::RunnerBuilder;
/// # fn example(builder: RunnerBuilder) -> Result<(), Box<dyn std::error::Error>> {
/// // To the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names, by default one on this machine.
/// let otel = Otel::builder().service_name("shop").install()?;
/// let runner = otel.build(builder)?;
/// // …
/// # drop(runner);
/// otel.shutdown()?;
/// # Ok(())
/// # }
/// ```
///
/// ADK: `google.adk.telemetry`.
#[derive(Debug)]
pub struct Otel {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    instruments: Arc<Metrics>,
    scope: InstrumentationScope,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closed,
}

impl Otel {
    pub(crate) fn new(
        traces: SdkTracerProvider,
        metrics: SdkMeterProvider,
        instruments: Metrics,
        scope: InstrumentationScope,
    ) -> Self {
        Self { traces, metrics, instruments: Arc::new(instruments), scope, state: State::Open }
    }

    /// Returns the layer that exports spans and measures them, for the program's own subscriber:
    /// `tracing_subscriber::registry().with(log).with(otel.layer())`.
    ///
    /// It exports spans of level INFO and above, including the program's own. It does not export log events, because
    /// their texts may repeat what a user said. Set a log filter on the log's layer: a filter for the whole registry
    /// would also filter spans, and with them metrics.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let tracer = self.traces.tracer_with_scope(self.scope.clone());
        let spans = tracing_opentelemetry::layer().with_tracer(tracer);
        // Source lines and thread numbers are not about a run.
        let spans = spans.with_location(false).with_threads(false).with_tracked_inactivity(false);
        let measured = MetricsLayer::new(Arc::clone(&self.instruments));
        let is_exported = |metadata: &Metadata<'_>| metadata.is_span() && *metadata.level() <= Level::INFO;
        let exported = filter_fn(is_exported).with_max_level_hint(LevelFilter::INFO);
        let counted = filter_fn(measures).with_max_level_hint(LevelFilter::DEBUG);
        spans.with_filter(exported).and_then(measured.with_filter(counted))
    }

    /// Builds a Runner. Each of its invocations has one trace, across pauses and processes, and its load is part of the
    /// metrics.
    ///
    /// This sets the builder's [`on_invocation_span`](RunnerBuilder::on_invocation_span) to [`join_trace`] and replaces
    /// any hook that was set before. If you need your own hook, build the Runner yourself, call `join_trace` in the
    /// hook, and add the Runner's load with [`watch`](Self::watch).
    ///
    /// # Errors
    /// The errors of [`RunnerBuilder::build`].
    pub fn build(&self, runner: RunnerBuilder) -> Result<Runner, BuildError> {
        let runner = runner.on_invocation_span(join_trace).build()?;
        self.watch(&runner);
        Ok(runner)
    }

    /// Adds the load of a Runner that was built elsewhere to the metrics. This does not keep the Runner alive.
    pub fn watch(&self, runner: &Runner) {
        self.instruments.watch(runner);
    }

    /// Sends all pending telemetry without waiting for the next interval. This blocks the thread until everything is
    /// sent or refused.
    ///
    /// # Errors
    /// [`OtelError::Shutdown`] if an exporter fails.
    pub fn flush(&self) -> Result<(), OtelError> {
        let results = [self.traces.force_flush(), self.metrics.force_flush()];
        first_failure(results)
    }

    /// Sends all pending telemetry and shuts down the exporters. This blocks the thread, for at most a few seconds if a
    /// collector does not answer.
    ///
    /// # Errors
    /// [`OtelError::Shutdown`] if an exporter fails. Both exporters are shut down in any case.
    pub fn shutdown(mut self) -> Result<(), OtelError> {
        self.close()
    }

    fn close(&mut self) -> Result<(), OtelError> {
        if std::mem::replace(&mut self.state, State::Closed) == State::Closed {
            return Ok(());
        }
        let results = [self.traces.shutdown(), self.metrics.shutdown()];
        first_failure(results)
    }
}

/// Returns the first failure of traces and metrics. It is not a failure if the program has already shut down a provider
/// itself.
fn first_failure(results: [OTelSdkResult; 2]) -> Result<(), OtelError> {
    for (result, signal) in results.into_iter().zip([Signal::Traces, Signal::Metrics]) {
        match result {
            Ok(()) | Err(OTelSdkError::AlreadyShutdown) => {}
            Err(error) => return Err(OtelError::Shutdown { signal, reason: error.to_string() }),
        }
    }
    Ok(())
}

impl Drop for Otel {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "telemetry is incomplete");
        }
    }
}
