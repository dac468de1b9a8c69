//! [`ConnectModelError`]: why no model can be made from a name.

/// Why no model can be made from a name. The causes are in the text, so there is no `source()`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectModelError {
    /// The client of this provider is not compiled in.
    #[error(
        "models of '{provider}' need the Cargo feature `{feature}` of `pleach`. Add it in Cargo.toml: `features = [\"{feature}\"]`"
    )]
    FeatureOff {
        /// The provider in the name.
        provider: String,
        /// The feature that adds it.
        feature: &'static str,
    },
    /// No provider has this name.
    #[error(
        "unknown model provider '{provider}'. Use `anthropic:MODEL`, `gemini:MODEL`, `openai:MODEL` or `ollama:MODEL`"
    )]
    UnknownProvider {
        /// The part of the name before the colon.
        provider: String,
    },
    /// The name has no provider.
    #[error("the model '{name}' has no provider. Write `PROVIDER:MODEL`, for example `openai:{name}`")]
    NoProvider {
        /// The name.
        name: String,
    },
    /// The model cannot be made.
    #[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
    #[error(transparent)]
    Setup(#[from] pleach_model_http::ModelSetupError),
}

impl pleach_core::SetupError for ConnectModelError {}
