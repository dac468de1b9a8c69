//! The span of an invocation: made when the invocation is known, entered while its [`Run`](crate::Run) is polled.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use pleach_context::InvocationContext;
use pleach_context::telemetry::{self, InvocationTrace, OpenSpan, SpanEnd, SpanHook};
use tracing::Span;

use crate::RunError;
use crate::runner::RunnerParts;

/// The span of a run, held by whoever polls it; `None` where nobody listens, before the invocation is known, and at the end.
#[derive(Default)]
pub(crate) struct RunSpan(Option<OpenSpan>);

/// Where the stream of a run leaves the span for the one who polls it.
#[derive(Default)]
pub(crate) struct SpanSlot(Mutex<Option<Span>>);

/// What an app does with new spans of invocations.
#[derive(Clone, Default)]
pub(crate) struct OnSpan(pub(crate) Option<SpanHook>);

impl RunnerParts {
    /// The span of an invocation that starts or goes on.
    pub(crate) fn span(&self, ic: &InvocationContext, resumed: bool) -> Span {
        let span = telemetry::invocation(ic, self.root.spec(), resumed);
        if let Some(hook) = self.on_span.0.as_ref().filter(|_| !span.is_disabled()) {
            hook(&span, &InvocationTrace::new(ic.session_key(), ic.invocation_id(), resumed));
        }
        span
    }
}

impl SpanSlot {
    /// Leaves a span; what the stream does next is done inside of it.
    pub(crate) async fn fill(&self, span: Span) {
        if span.is_disabled() {
            return;
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(span);
        let mut left = false;
        // Nobody is woken: the poller finds the span and polls on at once.
        poll_fn(|_| if std::mem::replace(&mut left, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn take(&self) -> Option<Span> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl RunSpan {
    /// Polls the stream of a run inside of the span, once there is one; the end of the stream closes it.
    pub(crate) fn poll<T>(
        &mut self,
        slot: &SpanSlot,
        mut poll: impl FnMut() -> Poll<Option<Result<T, RunError>>>,
        end: impl FnOnce() -> SpanEnd,
    ) -> Poll<Option<Result<T, RunError>>> {
        if self.0.is_none() {
            let polled = poll();
            if polled.is_ready() {
                return polled;
            }
            self.0 = slot.take().map(OpenSpan::new);
        }
        let Some(open) = self.0.take() else { return Poll::Pending };
        let polled = open.span().in_scope(poll);
        match &polled {
            Poll::Ready(None) => open.end(end()),
            Poll::Ready(Some(Err(error))) => open.fail(error.code()),
            Poll::Ready(Some(Ok(_))) | Poll::Pending => self.0 = Some(open),
        }
        polled
    }
}

impl fmt::Debug for OnSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "OnSpan(set)" } else { "OnSpan" })
    }
}
