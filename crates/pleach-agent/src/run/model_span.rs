//! [`ModelSpan`]: the span of one call of a model, from the request to the complete answer.

use std::pin::Pin;

use pleach_context::Context;
use pleach_context::telemetry::{ModelCall, ModelUsage, OpenSpan, SpanEnd, generate_content};
use pleach_core::EventId;
use pleach_model::{LlmRequest, LlmResponse};
use serde_json::Value;

/// The span of one call of a model. It is entered while the answer is awaited, not while calls of it are executed.
pub(super) struct ModelSpan(Option<OpenSpan>);

impl ModelSpan {
    /// Opens the span of a call whose answer becomes the event `event`.
    pub(super) fn open(request: &LlmRequest, agent: &str, event: &EventId, ctx: &Context) -> Self {
        let config = &request.config;
        let call = ModelCall {
            model: request.model.as_deref().unwrap_or_default(),
            agent,
            provider: None,
            event_id: Some(event),
            max_tokens: config.max_output_tokens.map(u64::from),
            temperature: config.temperature,
            top_p: config.top_p,
        };
        Self(Some(OpenSpan::new(generate_content(&call, ctx))))
    }

    /// Waits for the work, inside of the span while it is open.
    pub(super) async fn around<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> T {
        match &self.0 {
            Some(span) => span.around(work).await,
            None => work.await,
        }
    }

    /// Closes the span with what the answer reports. A later answer to the same call has no span.
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

    /// Closes the span of a call that failed.
    pub(super) fn failed(&mut self, code: &str) {
        if let Some(span) = self.0.take() {
            span.fail(code);
        }
    }

    /// Closes the span of a call whose answers are over.
    pub(super) fn over(&mut self) {
        if let Some(span) = self.0.take() {
            span.end(SpanEnd::Completed);
        }
    }
}
