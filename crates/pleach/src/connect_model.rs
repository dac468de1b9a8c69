//! Makes a provider's model from its name.

use std::sync::Arc;

use pleach_model::Model;

use crate::ConnectModelError;

/// Makes a model from a name of the form `PROVIDER:MODEL`, with keys and base URLs from the environment.
///
/// | name | provider | key | base URL |
/// | --- | --- | --- | --- |
/// | `anthropic:claude-sonnet-5` | Anthropic | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL` |
/// | `gemini:gemini-3.5-flash` | Gemini | `GOOGLE_API_KEY` or `GEMINI_API_KEY` | `GOOGLE_GEMINI_BASE_URL` |
/// | `openai:gpt-5-mini` | OpenAI, or any server with its chat completions | `OPENAI_API_KEY` | `OPENAI_BASE_URL` |
/// | `ollama:qwen3:8b` | Ollama | none | `OLLAMA_HOST` |
///
/// For all other settings, use the builders in [`models`](crate::models).
///
/// # Errors
/// An unknown provider, a provider whose feature is off (the error names it), a missing key, a base URL that cannot
/// be used. No error shows a key.
pub fn model(name: &str) -> Result<Arc<dyn Model>, ConnectModelError> {
    let Some((provider, model)) = name.split_once(':') else {
        return Err(ConnectModelError::NoProvider { name: name.to_owned() });
    };
    match provider {
        "anthropic" => anthropic(provider, model),
        "gemini" => gemini(provider, model),
        "openai" => openai(provider, model),
        "ollama" => ollama(provider, model),
        _ => Err(ConnectModelError::UnknownProvider { provider: provider.to_owned() }),
    }
}

macro_rules! provider {
    ($feature:literal, $name:ident) => {
        #[cfg(feature = $feature)]
        fn $name(_: &str, model: &str) -> Result<Arc<dyn Model>, ConnectModelError> {
            Ok(Arc::new(pleach_model_http::$name(model).build()?))
        }

        #[cfg(not(feature = $feature))]
        fn $name(provider: &str, _: &str) -> Result<Arc<dyn Model>, ConnectModelError> {
            Err(ConnectModelError::FeatureOff { provider: provider.to_owned(), feature: $feature })
        }
    };
}

provider!("anthropic", anthropic);
provider!("gemini", gemini);
provider!("openai", openai);
provider!("openai", ollama);
