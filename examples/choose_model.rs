//! Which model an example asks: the one that is named, else one whose key or base URL is in the environment.
//!
//! Examples have it as a module; without any of these they use a script, and need no network.

use std::sync::Arc;

use pleach::ConnectModelError;
use pleach::model::Model;

/// Asked for by this name, no model is used although the environment has a key.
const SCRIPTED: &str = "scripted";

/// The models for keys and base URLs, first match first.
const OF_ENVIRONMENT: [(&str, &[&str]); 4] = [
    ("openai:gpt-5-mini", &["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
    ("anthropic:claude-sonnet-5", &["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]),
    ("gemini:gemini-3.5-flash", &["GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"]),
    ("ollama:qwen3:8b", &["OLLAMA_HOST"]),
];

/// Makes the model of a name such as `openai:gpt-5-mini`, or of the environment. `None`: the example's script is to be used.
pub(crate) fn choose_model(name: Option<&str>) -> Result<Option<Arc<dyn Model>>, ConnectModelError> {
    let is_set = |variable: &&str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let of_environment = || OF_ENVIRONMENT.iter().find(|(_, variables)| variables.iter().any(is_set));
    match name.or_else(|| of_environment().map(|(name, _)| *name)) {
        None | Some(SCRIPTED) => Ok(None),
        Some(name) => pleach::model(name).map(Some),
    }
}
