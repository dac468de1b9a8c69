//! OpenTelemetry for pleach: all parts of an invocation in one trace, whichever processes they ran in.

use std::cell::Cell;
use std::io::Write as _;

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TracerProvider as _};
use opentelemetry::{Context, trace::TraceState};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracerProvider, SpanData, SpanExporter};
use pleach::telemetry::InvocationTrace;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

/// Sends what `tracing` records to OpenTelemetry.
pub(crate) fn init() -> SdkTracerProvider {
    // A program that samples: `.with_sampler(Sampler::TraceIdRatioBased(0.1))`, which decides alike in every process.
    let provider = SdkTracerProvider::builder().with_id_generator(Ids::default()).with_simple_exporter(Printer).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("pleach"));
    // Set once, by the program alone; a second call would change nothing.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
    provider
}

/// Puts the span of an invocation into the invocation's own trace, for `RunnerBuilder::on_invocation_span`: as its root
/// where the invocation starts, below that root where it continues. The caller's span is linked.
pub(crate) fn join_trace(span: &Span, trace: &InvocationTrace) {
    let caller = Span::current().context().span().span_context().clone();
    if caller.is_valid() {
        span.add_link(caller);
    }
    let (trace_id, span_id) = (TraceId::from_bytes(trace.trace_id()), SpanId::from_bytes(trace.span_id()));
    if trace.is_resumed() {
        let first = SpanContext::new(trace_id, span_id, TraceFlags::SAMPLED, true, TraceState::default());
        let _ = span.set_parent(Context::new().with_remote_span_context(first));
    } else {
        let _ = span.set_parent(Context::new());
        NEXT.set(Some((trace_id, span_id)));
        // The span starts here, with these ids.
        let _ = span.context();
        NEXT.set(None);
    }
}

thread_local! {
    /// The ids of the span that [`join_trace`] starts.
    static NEXT: Cell<Option<(TraceId, SpanId)>> = const { Cell::new(None) };
}

/// Random ids, except for the root of an invocation's trace.
#[derive(Debug, Default)]
struct Ids(RandomIdGenerator);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        NEXT.get().map_or_else(|| self.0.new_trace_id(), |(trace, _)| trace)
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.get().map_or_else(|| self.0.new_span_id(), |(_, span)| span)
    }
}

/// Prints a line for each span; takes the place of an exporter that sends them.
#[derive(Debug)]
struct Printer;

impl SpanExporter for Printer {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut out = std::io::stdout().lock();
        for span in batch {
            let (own, parent) = (span.span_context, span.parent_span_id);
            let outcome = span.attributes.iter().find(|attribute| attribute.key.as_str() == "pleach.outcome");
            let outcome = outcome.map(|attribute| format!(": {}", attribute.value)).unwrap_or_default();
            let links: String =
                span.links.iter().map(|link| format!(", linked to {}", link.span_context.trace_id())).collect();
            let line = format!("{} {} {parent} {}{outcome}{links}", own.trace_id(), own.span_id(), span.name);
            writeln!(out, "{line}")
                .map_err(|error| opentelemetry_sdk::error::OTelSdkError::InternalFailure(error.to_string()))?;
        }
        Ok(())
    }
}
