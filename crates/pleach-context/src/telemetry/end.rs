//! Records how the work of a span ended, and the token usage of model calls.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use tracing::Span;

/// How the work of a span ended. It is the span's attribute `pleach.outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanEnd {
    /// The work is done.
    Completed,
    /// The work waits for answers and resumes in another span.
    Interrupted,
    /// The work failed.
    Failed,
    /// The work was aborted or dropped.
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

/// Records that the work failed with an error of this class or status. The error's text is not recorded on spans,
/// because it may repeat what a user said.
pub fn fail_span(span: &Span, error_type: &str) {
    end_span(span, SpanEnd::Failed);
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}

/// A span whose work is in progress. If it is dropped before its end is recorded, it reports that the work was
/// cancelled.
#[derive(Debug)]
pub struct OpenSpan(Span);

impl OpenSpan {
    /// Takes a span whose end is to be recorded.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self(span)
    }

    /// The span.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.0
    }

    /// Waits for the work inside the span. The work is not moved, because moving a large future costs more than polling
    /// it.
    ///
    /// # Cancel safety
    /// As the work itself.
    pub async fn around<T>(&self, mut work: Pin<&mut impl Future<Output = T>>) -> T {
        poll_fn(|cx| self.0.in_scope(|| work.as_mut().poll(cx))).await
    }

    /// Records how the work ended, and releases the span.
    pub fn end(mut self, end: SpanEnd) {
        end_span(&std::mem::replace(&mut self.0, Span::none()), end);
    }

    /// Records the token usage of a model's answer, and its error code if it reports an error instead of an answer.
    /// Then releases the span. See [`end_model_call`].
    pub fn end_model_call(mut self, usage: &ModelUsage<'_>, error_type: Option<&str>) {
        let span = std::mem::replace(&mut self.0, Span::none());
        record_usage(&span, usage);
        match error_type {
            Some(error_type) => fail_span(&span, error_type),
            None => end_span(&span, SpanEnd::Completed),
        }
    }

    /// Records the class or status of the error that the work failed with, and releases the span. See [`fail_span`].
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
    /// The reason why the model stopped, in lower case.
    pub finish_reason: Option<&'a str>,
    /// The number of tokens in the request.
    pub input_tokens: Option<u64>,
    /// The number of tokens in the answer.
    pub output_tokens: Option<u64>,
    /// The number of request tokens that came from the provider's cache.
    pub cached_tokens: Option<u64>,
    /// The number of tokens that the model spent on thinking.
    pub reasoning_tokens: Option<u64>,
}

/// Records the token usage of a model's answer, and that the call is done.
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
