//! [`ConnectError`]: why no session service can be opened for a URL.

use pleach_session::SessionError;

/// Why no session service can be opened for a URL. The causes are in the text, so there is no `source()`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The backend of this scheme is not compiled in.
    #[error(
        "URLs with '{scheme}' need the Cargo feature `{feature}` of `pleach`. Add it in Cargo.toml: `features = [\"{feature}\"]`"
    )]
    FeatureOff {
        /// The scheme of the URL.
        scheme: String,
        /// The feature that adds it.
        feature: &'static str,
    },
    /// No backend has this scheme.
    #[error(
        "unknown scheme '{scheme}' in the session URL. Use `memory:`, `sqlite:FILE`, `sqlite:///FILE` or `postgresql://HOST/DATABASE`"
    )]
    UnknownScheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The URL has no file name.
    #[error("the URL '{url}' has no file name. Use `sqlite:FILE`, or `memory:` to keep sessions in memory")]
    NoFile {
        /// The scheme of the URL. The rest is left out, because it may contain a secret.
        url: String,
    },
    /// The URL has an invalid part, such as an unknown option.
    #[error("'{url}': {reason}")]
    BadUrl {
        /// The scheme of the URL. The rest is left out, because it may contain a secret.
        url: String,
        /// What is wrong with the URL.
        reason: String,
    },
    /// The backend cannot be opened.
    #[error("cannot open '{url}': {error}")]
    Open {
        /// The scheme of the URL. The rest is left out, because it may contain a password. The error names the file
        /// or the server.
        url: String,
        /// The error of the backend.
        error: Box<SessionError>,
    },
}

impl pleach_core::SetupError for ConnectError {}
