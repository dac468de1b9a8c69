//! What can go wrong with an artifact.

use std::io;
use std::path::PathBuf;

use pleach_core::BoxError;

/// The result of an artifact operation.
pub type ArtifactResult<T> = Result<T, ArtifactError>;

/// Why an artifact operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The name has no `user:` prefix, so it belongs to a session, and none is given (S73).
    #[error("artifact `{filename}` belongs to a session, and no session is given")]
    MissingSession {
        /// The name as given.
        filename: String,
    },
    /// An app, user or session id could lead to somebody else's files (S77).
    #[error("{field} `{value}` {reason}")]
    InvalidId {
        /// `app_name`, `user_id` or `session_id`.
        field: &'static str,
        /// The id as given.
        value: String,
        /// What it must be or must not be.
        reason: &'static str,
    },
    /// The name cannot be stored safely (S77).
    #[error("artifact name `{filename}` {reason}")]
    InvalidFilename {
        /// The name as given.
        filename: String,
        /// What it must be or must not be.
        reason: &'static str,
    },
    /// The part holds nothing that this service stores (S74).
    #[error("artifact `{filename}` {reason}")]
    UnsupportedPart {
        /// The name as given.
        filename: String,
        /// What is missing or not supported.
        reason: &'static str,
    },
    /// An `artifact://` reference cannot be followed (S75).
    #[error("artifact reference `{uri}` {reason}")]
    InvalidReference {
        /// The reference.
        uri: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// A stored file is not what its service writes.
    #[error("stored artifact file {} is damaged", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What reading it said.
        #[source]
        source: BoxError,
    },
    /// The file system refused.
    #[error("artifact storage failed at {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Any other storage failed.
    #[error("{backend} artifact storage failed")]
    Storage {
        /// The service's name.
        backend: &'static str,
        /// What the storage said.
        #[source]
        source: BoxError,
    },
}

impl ArtifactError {
    /// Returns the stable name of the error for event error codes and HTTP bodies.
    ///
    /// Everything that is the caller's fault has ADK's `InputValidationError`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingSession { .. }
            | Self::InvalidId { .. }
            | Self::InvalidFilename { .. }
            | Self::UnsupportedPart { .. }
            | Self::InvalidReference { .. } => "InputValidationError",
            Self::Io { .. } => "OSError",
            Self::Corrupt { .. } | Self::Storage { .. } => "ArtifactStorageError",
        }
    }
}
