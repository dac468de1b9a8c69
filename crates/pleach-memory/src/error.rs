//! [`MemoryError`].

use std::fmt;

use pleach_core::{BoxError, with_causes};

/// The result of a memory operation.
pub type MemoryResult<T> = Result<T, MemoryError>;

/// The reason why a memory operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum MemoryError {
    /// The service does not have this optional operation.
    // S80
    Unsupported {
        /// The method that was called.
        operation: &'static str,
    },
    /// An entry cannot be stored.
    InvalidEntry {
        /// The position of the entry in the request, starting at 0.
        index: usize,
        /// The member at fault.
        field: &'static str,
        /// The reason why it is refused.
        reason: String,
    },
    /// Stored data cannot be read.
    Corrupt {
        /// The file or value at fault.
        what: String,
        /// The error that reading reported.
        source: BoxError,
    },
    /// Other writers kept the storage locked until the deadline; trying again may help.
    Locked {
        /// The file at fault.
        what: String,
        /// The error of the driver.
        source: BoxError,
    },
    /// The storage cannot be reached or written.
    Unavailable {
        /// The file at fault.
        what: String,
        /// The error of the driver.
        source: BoxError,
    },
    /// The storage is intact, but was made for another program or version.
    Incompatible {
        /// The file at fault.
        what: String,
        /// A description of what was found.
        reason: String,
    },
    /// The storage failed in another way.
    Storage {
        /// The service's name.
        backend: &'static str,
        /// The error of the storage.
        source: BoxError,
    },
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { operation } => {
                write!(f, "this memory service does not support {operation}: use one that does, or leave the call out")
            }
            Self::InvalidEntry { index, field, reason } => {
                write!(f, "{field} of memories[{index}] cannot be stored: {reason}")
            }
            Self::Corrupt { what, source } => {
                write!(f, "{what} is damaged: {}; restore it from a backup", with_causes(&**source))
            }
            Self::Locked { what, source } => {
                write!(f, "{what} stayed locked: {}. Try again when other work on it has ended", with_causes(&**source))
            }
            Self::Unavailable { what, source } => write!(
                f,
                "{what} is not available: {}. Check that it can be reached, read and written, then try again",
                with_causes(&**source)
            ),
            Self::Incompatible { what, reason } => write!(f, "{what} is not supported: {reason}"),
            Self::Storage { backend, source } => {
                write!(
                    f,
                    "{backend} memory storage failed: {}. Check the log of the storage, then try again",
                    with_causes(&**source)
                )
            }
        }
    }
}

// The text contains the causes, so there is no `source()`.
impl std::error::Error for MemoryError {}

impl MemoryError {
    /// Returns the stable name of the error for event error codes and HTTP bodies.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "NotImplementedError",
            Self::InvalidEntry { .. } => "ValueError",
            Self::Corrupt { .. } => "CorruptStorageError",
            Self::Locked { .. } => "StorageLockedError",
            Self::Unavailable { .. } => "StorageUnavailableError",
            Self::Incompatible { .. } => "UnsupportedStorageError",
            Self::Storage { .. } => "MemoryStorageError",
        }
    }
}
