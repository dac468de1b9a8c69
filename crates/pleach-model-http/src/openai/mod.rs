//! The wire format of OpenAI-compatible chat completions: OpenAI, Ollama, vLLM, OpenRouter, Groq, Mistral, DeepSeek,
//! Azure.

mod answer;
mod answer_shape;
mod calls;
mod messages;
mod request;
mod schema;
mod stream;
mod text;

use pleach_model::{LlmResponse, ModelCall, ModelCapabilities, ModelError};
use serde_json::Value;

use crate::HttpModelBuilder;
use crate::schema::Dialect;
use crate::wire::{Decoder, Prepared, Provider, Reading, Wire};

/// Creates a builder for a model of OpenAI, or of any server with OpenAI's chat completions.
///
/// By default the key is read from `OPENAI_API_KEY`. The base URL is read from `OPENAI_BASE_URL`, or is OpenAI's own.
/// ADK: `LiteLlm`
///
/// ```no_run
/// # fn main() -> Result<(), pleach_model_http::ModelSetupError> {
/// use pleach_model_http::openai;
///
/// let gpt = openai("gpt-5-mini").build()?;
/// let other = openai("qwen/qwen3-32b").base_url("https://openrouter.ai/api/v1").key_from("OPENROUTER_API_KEY").build()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "LiteLlm")]
pub fn openai(model: impl Into<String>) -> HttpModelBuilder {
    HttpModelBuilder::new(OpenAi { provider: &OPENAI, max_tokens: "max_completion_tokens" }, model)
}

/// Creates a builder for a model of Ollama, on this machine or on `OLLAMA_HOST`. No key is needed.
///
/// ```
/// # fn main() -> Result<(), pleach_model_http::ModelSetupError> {
/// let model = pleach_model_http::ollama("qwen3:8b").build()?;
/// # Ok(())
/// # }
/// ```
pub fn ollama(model: impl Into<String>) -> HttpModelBuilder {
    HttpModelBuilder::new(OpenAi { provider: &OLLAMA, max_tokens: "max_tokens" }, model)
}

static OPENAI: Provider = Provider {
    name: "OpenAI",
    telemetry_name: "openai",
    example: "gpt-5-mini",
    base_url: "https://api.openai.com/v1",
    base_url_variables: &["OPENAI_BASE_URL"],
    key_variables: &["OPENAI_API_KEY"],
    key_header: ("authorization", "Bearer "),
    headers: &[],
    needs_key: true,
};

static OLLAMA: Provider = Provider {
    name: "Ollama",
    telemetry_name: "ollama",
    example: "qwen3:8b",
    base_url: "http://127.0.0.1:11434/v1",
    base_url_variables: &["OLLAMA_HOST"],
    key_variables: &["OLLAMA_API_KEY"],
    key_header: ("authorization", "Bearer "),
    headers: &[],
    needs_key: false,
};

struct OpenAi {
    provider: &'static Provider,
    /// The member that limits the tokens of an answer.
    max_tokens: &'static str,
}

impl Wire for OpenAi {
    fn provider(&self) -> &'static Provider {
        self.provider
    }

    fn dialect(&self) -> &'static Dialect {
        &schema::DIALECT
    }

    // L27, L52
    fn capabilities(&self, is_original: bool) -> ModelCapabilities {
        // Other servers constrain the whole answer to the schema, so the model could not call a tool.
        let both = is_original && self.provider.needs_key;
        ModelCapabilities::default().output_schema_and_tools(both).pairs_calls_by_id(true)
    }

    fn check_output_schema(&self, model: &str, schema: &Value) -> Result<(), ModelError> {
        request::strict(model, schema).map(drop)
    }

    fn complete_base_url(&self, url: String) -> String {
        if std::ptr::eq(self.provider, &raw const OLLAMA) { ollama_url(&url) } else { url }
    }

    fn prepare(&self, model: &str, call: &ModelCall<'_>) -> Result<Prepared, ModelError> {
        request::prepare(model, call, self.max_tokens)
    }

    fn read(&self, reading: &Reading<'_>, answer: Value) -> Result<LlmResponse, ModelError> {
        answer::read(reading, &answer)
    }

    fn decoder<'a>(&self, reading: Reading<'a>) -> Box<dyn Decoder + 'a> {
        Box::new(stream::ChatStream::new(reading))
    }
}

/// Completes the forms of `OLLAMA_HOST`: a host, a host with a port, or a URL. The address that means all interfaces is
/// replaced by this machine.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let rest = match rest.strip_prefix("0.0.0.0") {
        Some(port) => format!("127.0.0.1{port}"),
        None => rest.to_owned(),
    };
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = if has_port || rest.contains('/') || host.contains("://") { "" } else { ":11434" };
    let path = if rest.contains('/') { "" } else { "/v1" };
    format!("{scheme}://{rest}{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_reached_where_its_variable_says() {
        for (host, url) in [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
            ("gpu", "http://gpu:11434/v1"),
            ("http://gpu:11434/", "http://gpu:11434/v1"),
            ("https://ollama.example.com", "https://ollama.example.com/v1"),
            ("https://example.com/ollama/v1", "https://example.com/ollama/v1"),
        ] {
            assert_eq!(ollama_url(host), url);
        }
    }

    fn built(builder: HttpModelBuilder, variables: &[(&str, &str)]) -> Result<(), String> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        builder.build_with(&find).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_missing_key_says_where_it_is_looked_for() {
        let missing = "model `m` has no key for OpenAI: set `OPENAI_API_KEY` in the environment, or call `.key(…)`";
        assert_eq!(built(openai("m"), &[]), Err(missing.to_owned()));
        assert_eq!(built(openai("m"), &[("OPENAI_API_KEY", "k")]), Ok(()));
        assert_eq!(built(openai("m").key("k"), &[]), Ok(()));
        assert_eq!(built(openai("m"), &[("OPENAI_BASE_URL", "http://localhost:8000/v1")]), Ok(()));
        assert_eq!(built(openai("m").header("Authorization", "Bearer k"), &[]), Ok(()));
        let error = built(openai("m").key_from("OTHER_KEY"), &[("OPENAI_API_KEY", "k")]).unwrap_err();
        assert!(error.contains("set `OTHER_KEY` in the environment"), "{error}");
        assert_eq!(built(ollama("m"), &[]), Ok(()));
        assert!(built(openai(" "), &[]).unwrap_err().contains("needs the name of a model, for example `gpt-5-mini`"));
    }

    #[test]
    fn keys_are_not_sent_in_the_open() {
        let remote = || openai("m").base_url("http://gpu.example.com/v1");
        let refused = "model `m` would send its key, headers or query to `gpu.example.com` without encryption: use https, or call \
                       `.allow_plain_http()`";
        assert_eq!(built(remote().key("k"), &[]), Err(refused.to_owned()));
        assert_eq!(built(remote().header("x-team", "a"), &[]), Err(refused.to_owned()));
        let query = || openai("m").base_url("http://gpu.example.com/v1?key=secret123");
        assert_eq!(built(query(), &[]), Err(refused.to_owned()));
        let by_environment = [("OLLAMA_HOST", "http://gpu.example.com/v1?key=secret123")];
        assert_eq!(built(ollama("m"), &by_environment), Err(refused.to_owned()));
        assert_eq!(built(query().allow_plain_http(), &[]), Ok(()));
        assert_eq!(built(remote().key("k").allow_plain_http(), &[]), Ok(()));
        // A base URL of the program does not get the key of the environment.
        assert_eq!(built(remote(), &[("OPENAI_API_KEY", "k")]), Ok(()));
        assert_eq!(built(ollama("m"), &[("OLLAMA_HOST", "gpu.example.com")]), Ok(()));
    }

    #[test]
    fn no_key_is_shown() {
        let builder = openai("m").key("sk-hush-hush").header("x-secret", "hush-hush");
        assert_eq!(format!("{builder:?}"), "HttpModelBuilder { name: \"m\", .. }");
        assert_eq!(format!("{:?}", builder.build().unwrap()), "HttpModel { name: \"m\", .. }");
        let error = openai("m").key("sk-hush\n").build().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
    }
}
