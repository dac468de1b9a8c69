//! The wire format of Gemini, whose types are the same as the core types.

mod answer;
mod history;
mod request;
mod schema;
mod stream;

use pleach_model::{LlmResponse, ModelCall, ModelCapabilities, ModelError};
use serde_json::Value;

use crate::HttpModelBuilder;
use crate::schema::Dialect;
use crate::wire::{Decoder, Prepared, Provider, Reading, Wire};

/// Creates a builder for a model of Gemini.
///
/// By default the key is read from `GOOGLE_API_KEY` or `GEMINI_API_KEY`. The base URL is read from
/// `GOOGLE_GEMINI_BASE_URL`, or is Google's own. A base URL that ends in a version of the API (`…/v1alpha`) replaces
/// `v1beta`. The HTTP options of a request can also set the version.
/// ADK: `Gemini`
///
/// ```no_run
/// # fn main() -> Result<(), pleach_model_http::ModelSetupError> {
/// let model = pleach_model_http::gemini("gemini-3.5-flash").build()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "Gemini")]
pub fn gemini(model: impl Into<String>) -> HttpModelBuilder {
    HttpModelBuilder::new(Gemini, model)
}

// L210
static GEMINI: Provider = Provider {
    name: "Gemini",
    telemetry_name: "gcp.gemini",
    example: "gemini-3.5-flash",
    base_url: "https://generativelanguage.googleapis.com",
    base_url_variables: &["GOOGLE_GEMINI_BASE_URL"],
    key_variables: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    key_header: ("x-goog-api-key", ""),
    headers: &[],
    needs_key: true,
};

struct Gemini;

impl Wire for Gemini {
    fn provider(&self) -> &'static Provider {
        &GEMINI
    }

    fn dialect(&self) -> &'static Dialect {
        &schema::DIALECT
    }

    // L27: Gemini with a key cannot combine a schema with tools.
    fn capabilities(&self, _: bool) -> ModelCapabilities {
        ModelCapabilities::default()
    }

    fn prepare(&self, model: &str, call: &ModelCall<'_>) -> Result<Prepared, ModelError> {
        request::prepare(model, call)
    }

    fn read(&self, reading: &Reading<'_>, answer: Value) -> Result<LlmResponse, ModelError> {
        answer::whole(reading, &answer)
    }

    fn decoder<'a>(&self, reading: Reading<'a>) -> Box<dyn Decoder + 'a> {
        Box::new(stream::GeminiStream::new(reading))
    }
}
