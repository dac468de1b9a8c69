//! The wire format of Anthropic messages.

mod answer;
mod messages;
mod output;
mod request;
mod schema;
mod stream;

use pleach_model::{LlmResponse, ModelCall, ModelCapabilities, ModelError};
use serde_json::Value;

use crate::HttpModelBuilder;
use crate::schema::Dialect;
use crate::wire::{Decoder, Prepared, Provider, Reading, Wire};

/// Creates a builder for a model of Anthropic.
///
/// By default the key is read from `ANTHROPIC_API_KEY`. The base URL is read from `ANTHROPIC_BASE_URL`, or is
/// Anthropic's own. An answer has at most 8,192 tokens unless the agent's settings say otherwise. ADK: `AnthropicLlm`
///
/// ```no_run
/// # fn main() -> Result<(), pleach_model_http::ModelSetupError> {
/// let model = pleach_model_http::anthropic("claude-sonnet-5").build()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "AnthropicLlm")]
pub fn anthropic(model: impl Into<String>) -> HttpModelBuilder {
    HttpModelBuilder::new(Anthropic, model)
}

static ANTHROPIC: Provider = Provider {
    name: "Anthropic",
    telemetry_name: "anthropic",
    example: "claude-sonnet-5",
    base_url: "https://api.anthropic.com",
    base_url_variables: &["ANTHROPIC_BASE_URL"],
    key_variables: &["ANTHROPIC_API_KEY"],
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
    needs_key: true,
};

struct Anthropic;

impl Wire for Anthropic {
    fn provider(&self) -> &'static Provider {
        &ANTHROPIC
    }

    fn dialect(&self) -> &'static Dialect {
        &schema::DIALECT
    }

    // An output schema is sent as a tool that must be called, so the model could not call other tools.
    fn capabilities(&self, _: bool) -> ModelCapabilities {
        ModelCapabilities::default().pairs_calls_by_id(true)
    }

    fn prepare(&self, model: &str, call: &ModelCall<'_>) -> Result<Prepared, ModelError> {
        request::prepare(model, call)
    }

    fn read(&self, reading: &Reading<'_>, answer: Value) -> Result<LlmResponse, ModelError> {
        answer::read(reading, &answer)
    }

    fn decoder<'a>(&self, reading: Reading<'a>) -> Box<dyn Decoder + 'a> {
        Box::new(stream::MessageStream::new(reading))
    }
}
