//! [`ModelSetupError`]: the reasons why a model cannot be built.

/// The reason why a model cannot be built. No error shows a key, a header's value or a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelSetupError {
    /// There is no key for a provider that needs one.
    #[error("model `{model}` has no key for {provider}: set {variables} in the environment, or call `.key(…)`")]
    MissingKey {
        /// The model.
        model: String,
        /// The common name of the provider.
        provider: &'static str,
        /// The environment variables that are read.
        variables: String,
    },
    /// The model has no name.
    #[error("{provider} needs the name of a model, for example `{example}`")]
    MissingName {
        /// The common name of the provider.
        provider: &'static str,
        /// A valid name.
        example: &'static str,
    },
    /// The base URL cannot be used.
    #[error("the base URL of model `{model}` {reason}")]
    BaseUrl {
        /// The model.
        model: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// A key, a header or the query of the base URL would be sent without encryption.
    #[error(
        "model `{model}` would send its key, headers or query to `{host}` without encryption: use https, or call `.allow_plain_http()`"
    )]
    PlainHttp {
        /// The model.
        model: String,
        /// The host of the base URL.
        host: String,
    },
    /// A header cannot be sent.
    #[error("model `{model}` cannot send the header `{header}`: {reason}")]
    Header {
        /// The model.
        model: String,
        /// The header's name.
        header: String,
        /// The reason.
        reason: &'static str,
    },
    /// Encrypted connections cannot be made.
    #[error("model `{model}` cannot use TLS: {reason}; install the CA certificates of your system")]
    Tls {
        /// The model.
        model: String,
        /// The cause.
        reason: String,
    },
}

impl pleach_core::SetupError for ModelSetupError {}
