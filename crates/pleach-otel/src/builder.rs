//! [`OtelBuilder`]: sets the destinations of traces and metrics.

use std::fmt;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::{InstrumentationScope, Key, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{MeterProviderBuilder, SdkMeterProvider};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanExporter, TracerProviderBuilder};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::environment::{is_exported, variable};
use crate::metrics::Metrics;
use crate::{InvocationIds, Otel, OtelError, Signal};

/// The name of the instrumentation scope of traces and metrics.
pub(crate) const SCOPE: &str = "pleach";

/// The SDK's name for a service without a name.
const UNNAMED: &str = "unknown_service";

/// Sets up traces and metrics. See [`Otel::builder`].
#[derive(Debug, Default)]
#[must_use]
pub struct OtelBuilder {
    service: Option<String>,
    traces: Target<TracerProviderBuilder, SdkTracerProvider>,
    metrics: Target<MeterProviderBuilder, SdkMeterProvider>,
}

/// The destination of a signal.
#[derive(Default)]
enum Target<B, P> {
    /// The destination that the environment names.
    #[default]
    Environment,
    /// An exporter; the function adds it to a provider.
    Exporter(Box<dyn FnOnce(B) -> B + Send>),
    /// A provider of the program.
    Provider(P),
    Nowhere,
}

impl Otel {
    /// Returns a builder that exports traces and metrics with OTLP over HTTP, as the standard variables `OTEL_…`
    /// specify.
    pub fn builder() -> OtelBuilder {
        OtelBuilder::default()
    }
}

impl OtelBuilder {
    /// Names the service, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` does. The name has no effect on
    /// providers that the program passes.
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Sends spans to an exporter, in batches from a separate thread. The variables `OTEL_BSP_…` set their size and
    /// interval.
    pub fn span_exporter(mut self, exporter: impl SpanExporter + 'static) -> Self {
        self.traces = Target::Exporter(Box::new(|provider| provider.with_batch_exporter(exporter)));
        self
    }

    /// Sends metrics to an exporter from a separate thread, every 60 seconds by default. The variable
    /// `OTEL_METRIC_EXPORT_INTERVAL` sets another interval, in milliseconds.
    pub fn metric_exporter(mut self, exporter: impl PushMetricExporter) -> Self {
        self.metrics = Target::Exporter(Box::new(|provider| provider.with_periodic_exporter(exporter)));
        self
    }

    /// Sends spans to a provider of the program, with its processors, sampler and resource. It must have
    /// [`InvocationIds`] as its id generator; otherwise an invocation that pauses has several traces.
    /// [`Otel::shutdown`] shuts it down.
    pub fn tracer_provider(mut self, provider: SdkTracerProvider) -> Self {
        self.traces = Target::Provider(provider);
        self
    }

    /// Sends metrics to a provider of the program, with its readers, views and resource. [`Otel::shutdown`] shuts it
    /// down.
    pub fn meter_provider(mut self, provider: SdkMeterProvider) -> Self {
        self.metrics = Target::Provider(provider);
        self
    }

    /// Exports no spans.
    pub fn no_traces(mut self) -> Self {
        self.traces = Target::Nowhere;
        self
    }

    /// Exports no metrics.
    pub fn no_metrics(mut self) -> Self {
        self.metrics = Target::Nowhere;
        self
    }

    /// Creates the exporters. The program adds [`Otel::layer`] to its subscriber.
    ///
    /// # Errors
    /// [`OtelError::Environment`] or [`OtelError::Exporter`], if the environment requires something that this build
    /// does not have.
    pub fn build(self) -> Result<Otel, OtelError> {
        let resource = resource(self.service);
        let traces = self.traces.provider(
            || SdkTracerProvider::builder().with_id_generator(InvocationIds::default()).with_resource(resource.clone()),
            |provider| Ok(if is_exported(Signal::Traces, variable)? { otlp_spans(provider)? } else { provider }),
            TracerProviderBuilder::build,
        )?;
        let metrics = self.metrics.provider(
            || SdkMeterProvider::builder().with_resource(resource.clone()),
            |provider| Ok(if is_exported(Signal::Metrics, variable)? { otlp_metrics(provider)? } else { provider }),
            MeterProviderBuilder::build,
        )?;
        let scope = InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build();
        let instruments = Metrics::new(&metrics.meter_with_scope(scope.clone()));
        Ok(Otel::new(traces, metrics, instruments, scope))
    }

    /// Creates the exporters and sets the subscriber of the whole program. It consists of [`Otel::layer`] alone, so
    /// `tracing` writes no log.
    ///
    /// # Errors
    /// The errors of [`build`](Self::build), and [`OtelError::SubscriberIsSet`].
    pub fn install(self) -> Result<Otel, OtelError> {
        let otel = self.build()?;
        let subscriber = Registry::default().with(otel.layer());
        tracing::subscriber::set_global_default(subscriber).map_err(|_| OtelError::SubscriberIsSet)?;
        Ok(otel)
    }
}

impl<B, P> Target<B, P> {
    /// Returns the program's provider, or creates one.
    fn provider(
        self,
        new: impl FnOnce() -> B,
        from_environment: impl FnOnce(B) -> Result<B, OtelError>,
        build: impl FnOnce(B) -> P,
    ) -> Result<P, OtelError> {
        Ok(match self {
            Self::Provider(provider) => provider,
            Self::Nowhere => build(new()),
            Self::Exporter(add) => build(add(new())),
            Self::Environment => build(from_environment(new())?),
        })
    }
}

fn otlp_spans(provider: TracerProviderBuilder) -> Result<TracerProviderBuilder, OtelError> {
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build();
    Ok(provider.with_batch_exporter(exporter.map_err(|cause| OtelError::Exporter { signal: Signal::Traces, cause })?))
}

fn otlp_metrics(provider: MeterProviderBuilder) -> Result<MeterProviderBuilder, OtelError> {
    let exporter = opentelemetry_otlp::MetricExporter::builder().with_http().build();
    let exporter = exporter.map_err(|cause| OtelError::Exporter { signal: Signal::Metrics, cause })?;
    Ok(provider.with_periodic_exporter(exporter))
}

/// Returns the resource that describes the program: the environment's, with the program's own name if the environment
/// names no service.
fn resource(service: Option<String>) -> Resource {
    let found = Resource::builder().build();
    let is_named = !matches!(found.get(&Key::from_static_str("service.name")), Some(Value::String(name)) if name.as_str() == UNNAMED);
    match service.filter(|_| !is_named) {
        Some(service) => Resource::builder().with_service_name(service).build(),
        None => found,
    }
}

impl<B, P> fmt::Debug for Target<B, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "Environment",
            Self::Exporter(_) => "Exporter",
            Self::Provider(_) => "Provider",
            Self::Nowhere => "Nowhere",
        })
    }
}
