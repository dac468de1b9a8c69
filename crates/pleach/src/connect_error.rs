//! [`ConnectError`]: why a URL gives no session service.

use pleach_session::SessionError;

/// Why a URL gives no session service. The causes are in the text, so there is no `source()`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The backend of this scheme is not compiled in.
    #[error("'{scheme}' needs the feature `{feature}` of the crate `pleach`: add `features = [\"{feature}\"]`")]
    FeatureOff {
        /// The scheme of the URL.
        scheme: String,
        /// The feature that adds it.
        feature: &'static str,
    },
    /// No backend has this scheme.
    #[error(
        "'{scheme}' is no session backend: use `memory:`, `sqlite:FILE`, `sqlite:///FILE` or `postgresql://HOST/DATABASE`"
    )]
    UnknownScheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The URL has no file.
    #[error("'{url}' names no file: use `sqlite:FILE`, or `memory:` for a database in memory")]
    NoFile {
        /// The scheme of the URL; the rest may hold a secret in the wrong place.
        url: String,
    },
    /// The URL has a part that this backend does not know.
    #[error("'{url}': {reason}")]
    BadUrl {
        /// The scheme of the URL; the rest may hold a secret in the wrong place.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The backend cannot be opened.
    #[error("cannot open '{url}': {error}")]
    Open {
        /// The scheme of the URL; the rest may hold a password. The error names the file or the server.
        url: String,
        /// What the backend said.
        error: Box<SessionError>,
    },
}

impl pleach_core::SetupError for ConnectError {}
