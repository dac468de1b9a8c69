//! [`ConnectModelError`]: why a name gives no model.

/// Why a name gives no model. The causes are in the text, so there is no `source()`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectModelError {
    /// The client of this provider is not compiled in.
    #[error("'{provider}' needs the feature `{feature}` of the crate `pleach`: add `features = [\"{feature}\"]`")]
    FeatureOff {
        /// The provider of the name.
        provider: String,
        /// The feature that adds it.
        feature: &'static str,
    },
    /// No provider is called so.
    #[error(
        "'{provider}' is no provider of models: use `anthropic:MODEL`, `gemini:MODEL`, `openai:MODEL` or `ollama:MODEL`"
    )]
    UnknownProvider {
        /// What the name begins with.
        provider: String,
    },
    /// The name has no provider.
    #[error("'{name}' names no provider: write `PROVIDER:MODEL`, for example `openai:{name}`")]
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
