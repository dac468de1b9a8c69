//! [`RunSpan`]: the span of an invocation, opened when the invocation is known and entered while its [`Run`](crate::Run) is polled.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use pleach_context::NodeSpec;
use pleach_context::engine::InvocationHandle;
use pleach_context::telemetry::{self, InvocationTrace, OpenSpan, SpanEnd, SpanHook};
use tracing::Span;

use crate::RunError;

/// The span of a run. If dropped before the end, it records that the run was cancelled.
pub(crate) struct RunSpan(OpenSpan);

/// The app's hook for new spans of invocations.
#[derive(Clone, Default)]
pub(crate) struct OnSpan(pub(crate) Option<SpanHook>);

impl OnSpan {
    /// Opens the span of an invocation that starts or is resumed.
    pub(crate) fn open(&self, ic: &InvocationHandle, root: &NodeSpec, resumed: bool) -> Span {
        let span = telemetry::invocation(ic, root, resumed);
        if let Some(hook) = self.0.as_ref().filter(|_| !span.is_disabled()) {
            hook(&span, &InvocationTrace::new(ic.session_key(), ic.invocation_id(), resumed));
        }
        span
    }
}

impl RunSpan {
    pub(crate) fn new(span: Span) -> Self {
        Self(OpenSpan::new(span))
    }

    /// Enters the span, if there is one, while `poll` runs.
    pub(crate) fn within<T>(span: Option<&Self>, poll: impl FnOnce() -> T) -> T {
        match span {
            Some(span) => span.0.span().in_scope(poll),
            None => poll(),
        }
    }

    /// Waits for the work inside the span.
    pub(crate) async fn around<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> T {
        self.0.around(work).await
    }

    /// Records how the run has ended and the number of answers that it waits for, and closes the span.
    pub(crate) fn end(self, end: SpanEnd, questions: usize) {
        if questions > 0 {
            self.0.span().record("pleach.questions", questions);
        }
        self.0.end(end);
    }

    /// Records the error of the run, and closes the span.
    pub(crate) fn fail(self, error: &RunError) {
        self.0.fail(error.code());
    }
}

impl fmt::Debug for OnSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "OnSpan(set)" } else { "OnSpan" })
    }
}
