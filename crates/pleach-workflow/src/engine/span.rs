//! [`AttemptSpan`]: the span of one attempt of a node run.

use pleach_context::telemetry::{OpenSpan, SpanEnd, node_run};
use pleach_context::{Context, NodeSpec};

/// The span of the current attempt; empty without a subscriber, so that a run stays small and allocates nothing.
#[derive(Debug, Default)]
pub(super) struct AttemptSpan(Option<Box<OpenSpan>>);

impl AttemptSpan {
    #[inline]
    pub(super) fn new(spec: &NodeSpec, ctx: &Context) -> Self {
        let span = node_run(spec, ctx);
        Self((!span.is_disabled()).then(|| Box::new(OpenSpan::new(span))))
    }

    /// Runs code of the attempt inside its span.
    #[inline]
    pub(super) fn in_scope<T>(&self, code: impl FnOnce() -> T) -> T {
        match &self.0 {
            None => code(),
            Some(span) => span.span().in_scope(code),
        }
    }

    /// Records that the attempt failed.
    pub(super) fn fail(&mut self, error_type: &str) {
        if let Some(span) = self.0.take() {
            span.fail(error_type);
        }
    }

    /// Records that the attempt ended, unless it failed before.
    #[inline]
    pub(super) fn end(&mut self, ctx: &Context) {
        if let Some(span) = self.0.take() {
            let waits = !ctx.interrupt_ids().is_empty();
            span.end(if waits { SpanEnd::Interrupted } else { SpanEnd::Completed });
        }
    }
}
