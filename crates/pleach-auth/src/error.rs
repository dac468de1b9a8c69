//! [`AuthError`]: the reason why a credential cannot be requested or accepted.

/// The reason why a credential cannot be requested or accepted. `Display` shows no credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The config is not an object with an auth scheme.
    #[error("auth_scheme is empty.")]
    EmptyScheme,
    /// The config lacks data that a sign-in with its scheme needs.
    #[error("Auth Scheme {scheme} requires {part}.")]
    Incomplete {
        /// The kind of the scheme: `oauth2` or `openIdConnect`.
        scheme: String,
        /// The missing part, such as `oauth2 in auth_credential`.
        part: &'static str,
    },
    /// The scheme declares no sign-in address.
    #[error("Cannot generate an auth uri for the auth scheme: {0}.")]
    NoEndpoint(&'static str),
    /// The OAuth2 client asks for a PKCE method other than SHA-256.
    #[error("Unsupported code_challenge_method: {0}. Only 'S256' is supported.")]
    UnsupportedChallenge(String),
    /// The client's answer has no credential, or belongs to another sign-in.
    #[error(
        "The auth response is malformed or does not carry back the state generated for this auth request. Return the auth config from the credential request with the authorization result filled in."
    )]
    MalformedAnswer,
}

impl AuthError {
    /// Returns ADK's class name: `WorkflowDataError` for a bad answer, `ValueError` for a bad config.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MalformedAnswer => "WorkflowDataError",
            _ => "ValueError",
        }
    }
}
