//! The errors of artifact operations.

use std::path::PathBuf;
use std::{fmt, io};

use pleach_core::{BoxError, with_causes};

/// The result of an artifact operation.
pub type ArtifactResult<T> = Result<T, ArtifactError>;

/// The reason why an artifact operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The name has no `user:` prefix, so it belongs to a session, but the scope has no session.
    // S73
    MissingSession {
        /// The name as the caller passed it.
        filename: String,
    },
    /// An app, user or session id could lead to other users' files.
    // S77
    InvalidId {
        /// `app_name`, `user_id` or `session_id`.
        field: &'static str,
        /// The id as the caller passed it.
        value: String,
        /// The rule that the id violates.
        reason: &'static str,
    },
    /// The name cannot be stored safely.
    // S77
    InvalidFilename {
        /// The name as the caller passed it.
        filename: String,
        /// The rule that the name violates.
        reason: &'static str,
    },
    /// The part contains nothing that this service stores.
    // S74
    UnsupportedPart {
        /// The name as the caller passed it.
        filename: String,
        /// A description of what is missing or not supported.
        reason: &'static str,
    },
    /// An `artifact://` reference cannot be followed.
    // S75
    InvalidReference {
        /// The reference.
        uri: String,
        /// The reason why it is refused.
        reason: &'static str,
    },
    /// A stored file does not have the form that its service writes.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The error that reading reported.
        source: BoxError,
    },
    /// The file system reported an error.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Any other storage failed.
    Storage {
        /// The service's name.
        backend: &'static str,
        /// The error of the storage.
        source: BoxError,
    },
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingSession { filename } => write!(
                f,
                "artifact `{filename}` belongs to a session, but the scope has no session: use `ArtifactScope::session`, or a name that starts with `user:`"
            ),
            Self::InvalidId { field, value, reason } => write!(f, "{field} `{value}` {reason}: use another id"),
            Self::InvalidFilename { filename, reason } => write!(f, "artifact name `{filename}` {reason}"),
            Self::UnsupportedPart { filename, reason } => write!(f, "artifact `{filename}` {reason}"),
            Self::InvalidReference { uri, reason } => write!(f, "artifact reference `{uri}` {reason}"),
            Self::Corrupt { path, source } => write!(
                f,
                "stored artifact file {} is damaged: {}; restore it from a backup, or delete the artifact",
                path.display(),
                with_causes(&**source)
            ),
            Self::Io { path, source } => {
                write!(
                    f,
                    "artifact storage failed at {}: {}. Check the permissions of the folder and the free space of its disk, then try again",
                    path.display(),
                    with_causes(source)
                )
            }
            Self::Storage { backend, source } => {
                write!(
                    f,
                    "{backend} artifact storage failed: {}. Check the log of the storage, then try again",
                    with_causes(&**source)
                )
            }
        }
    }
}

// The text contains the causes, so there is no `source()`.
impl std::error::Error for ArtifactError {}

impl ArtifactError {
    /// Returns the stable name of the error for event error codes and HTTP bodies.
    ///
    /// All of the caller's errors have ADK's `InputValidationError`.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text names the object at fault, contains the cause, and says what to do.
    #[test]
    fn every_text_names_the_object_and_the_remedy() {
        let (filename, path) = ("a.txt".to_owned(), PathBuf::from("/files/a.txt"));
        let cause = || io::Error::other("disk full");
        for (error, named, remedy) in [
            (ArtifactError::MissingSession { filename: filename.clone() }, "`a.txt`", "use `ArtifactScope::session`"),
            (
                ArtifactError::InvalidId { field: "user_id", value: "..".to_owned(), reason: "must not contain `..`" },
                "user_id `..` must not",
                "use another id",
            ),
            (
                ArtifactError::Corrupt { path: path.clone(), source: cause().into() },
                "/files/a.txt is damaged: disk full",
                "restore it from a backup",
            ),
            (
                ArtifactError::Io { path, source: cause() },
                "failed at /files/a.txt: disk full",
                "Check the permissions of the folder",
            ),
            (
                ArtifactError::Storage { backend: "bucket", source: cause().into() },
                "bucket artifact storage failed: disk full",
                "Check the log of the storage",
            ),
        ] {
            let text = error.to_string();
            assert!(text.contains(named) && text.contains(remedy), "{text}");
            assert!(std::error::Error::source(&error).is_none(), "the cause is in the text: {text}");
        }
    }
}
