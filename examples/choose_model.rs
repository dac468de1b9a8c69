//! Chooses the model for an example: the named model, or otherwise a model whose key or base URL is in the environment.
//!
//! Examples include this file as a module. If there is no model, they use a script and need no network.

use std::sync::Arc;

use pleach::ConnectModelError;
use pleach::model::Model;

/// The name that selects the script, even if the environment has a key.
const SCRIPTED: &str = "scripted";

/// The models, each with the variables of its key and its base URL. The first model with a variable that is set is
/// used.
const OF_ENVIRONMENT: [(&str, &[&str]); 4] = [
    ("openai:gpt-5-mini", &["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
    ("anthropic:claude-sonnet-5", &["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]),
    ("gemini:gemini-3.5-flash", &["GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"]),
    ("ollama:qwen3:8b", &["OLLAMA_HOST"]),
];

/// Returns the model with this name, such as `openai:gpt-5-mini`, or the model that the environment selects. Returns
/// `None` if the example should use its script.
pub(crate) fn choose_model(name: Option<&str>) -> Result<Option<Arc<dyn Model>>, ConnectModelError> {
    let is_set = |variable: &&str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let of_environment = || OF_ENVIRONMENT.iter().find(|(_, variables)| variables.iter().any(is_set));
    match name.or_else(|| of_environment().map(|(name, _)| *name)) {
        None | Some(SCRIPTED) => Ok(None),
        Some(name) => pleach::model(name).map(Some),
    }
}
