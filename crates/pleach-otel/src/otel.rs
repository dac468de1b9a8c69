//! [`Otel`]: traces and metrics while a program runs.

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
/// It is made once, near the beginning of the program, and kept to its end: [`shutdown`](Self::shutdown) sends what is left, and so does
/// dropping it.
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

    /// Returns the layer that exports spans and measures them, for a subscriber of the program's own:
    /// `tracing_subscriber::registry().with(log).with(otel.layer())`.
    ///
    /// It exports spans of level INFO and above, those of the program included, and no log events: their texts may repeat what a user said. A
    /// filter that the program sets for the whole registry filters spans, too, and metrics with them; give it to the layer of the log instead.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let tracer = self.traces.tracer_with_scope(self.scope.clone());
        let spans = tracing_opentelemetry::layer().with_tracer(tracer);
        // Lines of a source and numbers of threads say nothing about a run.
        let spans = spans.with_location(false).with_threads(false).with_tracked_inactivity(false);
        let measured = MetricsLayer::new(Arc::clone(&self.instruments));
        let is_exported = |metadata: &Metadata<'_>| metadata.is_span() && *metadata.level() <= Level::INFO;
        let exported = filter_fn(is_exported).with_max_level_hint(LevelFilter::INFO);
        let counted = filter_fn(measures).with_max_level_hint(LevelFilter::DEBUG);
        spans.with_filter(exported).and_then(measured.with_filter(counted))
    }

    /// Builds a Runner whose invocations have one trace each, across pauses and processes, and whose load is among the metrics.
    ///
    /// It sets the builder's [`on_invocation_span`](RunnerBuilder::on_invocation_span) to [`join_trace`], in place of a hook that was set before:
    /// a hook of one's own calls `join_trace`, and [`watch`](Self::watch) adds the load of its Runner.
    ///
    /// # Errors
    /// Those of [`RunnerBuilder::build`].
    pub fn build(&self, runner: RunnerBuilder) -> Result<Runner, BuildError> {
        let runner = runner.on_invocation_span(join_trace).build()?;
        self.watch(&runner);
        Ok(runner)
    }

    /// Adds the load of a Runner to the metrics, for one that was built elsewhere. The Runner is not kept alive.
    pub fn watch(&self, runner: &Runner) {
        self.instruments.watch(runner);
    }

    /// Sends what has not been sent, without waiting for the next interval. It blocks the thread until all of it is sent, or refused.
    ///
    /// # Errors
    /// [`OtelError::Shutdown`]: an exporter failed.
    pub fn flush(&self) -> Result<(), OtelError> {
        let results = [self.traces.force_flush(), self.metrics.force_flush()];
        first_failure(results)
    }

    /// Sends what has not been sent, and ends the exporters. It blocks the thread until then, some seconds at most where a collector does not
    /// answer.
    ///
    /// # Errors
    /// [`OtelError::Shutdown`]: an exporter failed. Both have been ended then, too.
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

/// Returns the first failure of traces and metrics. A provider that the program has ended itself is none.
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
