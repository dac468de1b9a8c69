//! Puts all parts of an invocation into one trace, even if they run in several processes.

use std::cell::Cell;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use pleach_context::telemetry::InvocationTrace;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

thread_local! {
    /// The ids of the span that [`join_trace`] starts.
    static NEXT: Cell<Option<(TraceId, SpanId)>> = const { Cell::new(None) };
}

/// Puts the span of an invocation into the invocation's own trace. If the invocation starts, the span is the root of
/// the trace; if it continues, the span is below that root. The caller's span is linked.
///
/// [`Otel::build`](crate::Otel::build) passes this function to
/// [`RunnerBuilder::on_invocation_span`](pleach_runner::RunnerBuilder::on_invocation_span). If a program has its own
/// hook, the hook must call it. The tracer provider needs [`InvocationIds`].
pub fn join_trace(span: &Span, trace: &InvocationTrace) {
    let caller = Span::current().context().span().span_context().clone();
    if caller.is_valid() {
        span.add_link(caller);
    }
    let (trace_id, span_id) = (TraceId::from_bytes(trace.trace_id()), SpanId::from_bytes(trace.span_id()));
    if trace.is_resumed() {
        let first = SpanContext::new(trace_id, span_id, TraceFlags::SAMPLED, true, TraceState::default());
        // This fails only for a span that no layer exports, which needs no parent.
        let _ = span.set_parent(Context::new().with_remote_span_context(first));
    } else {
        let _ = span.set_parent(Context::new());
        let next = Next::set(trace_id, span_id);
        // This call starts the span, with these ids.
        let _ = span.context();
        drop(next);
    }
}

/// A guard that sets the ids of this thread's next span, until it is dropped.
struct Next;

impl Next {
    fn set(trace: TraceId, span: SpanId) -> Self {
        NEXT.set(Some((trace, span)));
        Self
    }
}

impl Drop for Next {
    fn drop(&mut self) {
        NEXT.set(None);
    }
}

/// A generator of random ids. Only the root span of an invocation's trace gets ids that are derived from the
/// invocation.
///
/// Use it for your own tracer provider; see [`OtelBuilder::tracer_provider`](crate::OtelBuilder::tracer_provider).
#[derive(Clone, Debug, Default)]
pub struct InvocationIds(RandomIdGenerator);

impl IdGenerator for InvocationIds {
    fn new_trace_id(&self) -> TraceId {
        NEXT.get().map_or_else(|| self.0.new_trace_id(), |(trace, _)| trace)
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.get().map_or_else(|| self.0.new_span_id(), |(_, span)| span)
    }
}
