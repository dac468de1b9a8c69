//! How spans end: what is recorded on them besides the end itself.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use tracing::Span;

/// How the work of a span ended: its attribute `pleach.outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanEnd {
    /// It is done.
    Completed,
    /// It waits for answers and resumes in another span.
    Interrupted,
    /// It failed.
    Failed,
    /// It was aborted, or dropped.
    Cancelled,
}

impl SpanEnd {
    /// The value of the attribute.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Records how the work ended.
pub fn end_span(span: &Span, end: SpanEnd) {
    span.record("pleach.outcome", end.as_str());
}

/// Records that the work failed with an error of this class or status. The text of the error is not for spans: it may
/// repeat what a user said.
pub fn fail_span(span: &Span, error_type: &str) {
    end_span(span, SpanEnd::Failed);
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}

/// A span whose work is in progress. Dropped before its end is recorded, it reports that the work was cancelled.
#[derive(Debug)]
pub struct OpenSpan(Span);

impl OpenSpan {
    /// Watches over the end of a span.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self(span)
    }

    /// The span.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.0
    }

    /// Waits for the work, inside of the span. The work stays where it is: moving a large future costs more than polling it.
    ///
    /// # Cancel safety
    /// As the work is.
    pub async fn around<T>(&self, mut work: Pin<&mut impl Future<Output = T>>) -> T {
        poll_fn(|cx| self.0.in_scope(|| work.as_mut().poll(cx))).await
    }

    /// Records how the work ended, and lets go of the span.
    pub fn end(mut self, end: SpanEnd) {
        end_span(&std::mem::replace(&mut self.0, Span::none()), end);
    }

    /// Records what a model's answer cost and, where it reports an error instead of an answer, its code; and lets go of the
    /// span. See [`end_model_call`].
    pub fn end_model_call(mut self, usage: &ModelUsage<'_>, error_type: Option<&str>) {
        let span = std::mem::replace(&mut self.0, Span::none());
        record_usage(&span, usage);
        match error_type {
            Some(error_type) => fail_span(&span, error_type),
            None => end_span(&span, SpanEnd::Completed),
        }
    }

    /// Records what the work failed with, and lets go of the span. See [`fail_span`].
    pub fn fail(mut self, error_type: &str) {
        fail_span(&std::mem::replace(&mut self.0, Span::none()), error_type);
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        end_span(&self.0, SpanEnd::Cancelled);
    }
}

/// The token usage that a model's answer reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelUsage<'a> {
    /// Why the model stopped, in lower case.
    pub finish_reason: Option<&'a str>,
    /// Tokens of the request.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer.
    pub output_tokens: Option<u64>,
    /// Tokens of the request that came from the provider's cache.
    pub cached_tokens: Option<u64>,
    /// Tokens that the model spent on thinking.
    pub reasoning_tokens: Option<u64>,
}

/// Records what a model's answer cost, and that the call is done.
pub fn end_model_call(span: &Span, usage: &ModelUsage<'_>) {
    end_span(span, SpanEnd::Completed);
    record_usage(span, usage);
}

fn record_usage(span: &Span, usage: &ModelUsage<'_>) {
    if let Some(reason) = usage.finish_reason {
        span.record("gen_ai.response.finish_reasons", reason);
    }
    let counts = [
        ("gen_ai.usage.input_tokens", usage.input_tokens),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            span.record(name, count);
        }
    }
}
