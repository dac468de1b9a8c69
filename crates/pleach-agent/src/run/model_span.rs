//! [`ModelSpan`]: the tracing span of one model call, from the request to the complete answer.

use std::pin::Pin;

use pleach_context::Context;
use pleach_context::telemetry::{ModelCall, ModelUsage, OpenSpan, SpanEnd, generate_content};
use pleach_core::EventId;
use pleach_model::{LlmRequest, LlmResponse};
use serde_json::Value;

/// The tracing span of one model call. It is entered while the answer is awaited, but not while tool calls are
/// executed.
pub(super) struct ModelSpan(Option<OpenSpan>);

impl ModelSpan {
    /// Opens the span. The answer will be stored as the event with the id `event`.
    pub(super) fn open(
        request: &LlmRequest,
        provider: Option<&str>,
        agent: &str,
        event: &EventId,
        ctx: &Context,
    ) -> Self {
        let config = &request.config;
        let call = ModelCall {
            model: request.model.as_deref().unwrap_or_default(),
            agent,
            provider,
            event_id: Some(event),
            max_tokens: config.max_output_tokens.map(u64::from),
            temperature: config.temperature,
            top_p: config.top_p,
        };
        Self(Some(OpenSpan::new(generate_content(&call, ctx))))
    }

    /// Awaits `work`, inside the span if it is still open.
    pub(super) async fn around<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> T {
        match &self.0 {
            Some(span) => span.around(work).await,
            None => work.await,
        }
    }

    /// Closes the span with the usage and the error code of the answer. A later answer to the same call has no span.
    pub(super) fn answered(&mut self, response: &LlmResponse) {
        let Some(span) = self.0.take() else { return };
        if span.span().is_disabled() {
            return span.end(SpanEnd::Completed);
        }
        let count = |name: &str| response.info.usage_metadata.as_ref()?.get(name).and_then(Value::as_u64);
        let reason = response.info.finish_reason.as_deref().map(str::to_lowercase);
        span.end_model_call(
            &ModelUsage {
                finish_reason: reason.as_deref(),
                input_tokens: count("prompt_token_count"),
                output_tokens: count("candidates_token_count"),
                cached_tokens: count("cached_content_token_count"),
                reasoning_tokens: count("thoughts_token_count"),
            },
            response.error_code.as_deref(),
        );
    }

    /// Closes the span after a failed call.
    pub(super) fn failed(&mut self, code: &str) {
        if let Some(span) = self.0.take() {
            span.fail(code);
        }
    }

    /// Closes the span at the end of the stream.
    pub(super) fn complete(&mut self) {
        if let Some(span) = self.0.take() {
            span.end(SpanEnd::Completed);
        }
    }
}
