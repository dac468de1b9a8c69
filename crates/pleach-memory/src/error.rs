//! What can go wrong with a memory.

use pleach_core::BoxError;

/// The result of a memory operation.
pub type MemoryResult<T> = Result<T, MemoryError>;

/// Why a memory operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The service does not have this optional operation (S80).
    #[error("this memory service does not support {operation}")]
    Unsupported {
        /// The method that was called.
        operation: &'static str,
    },
    /// What is stored cannot be understood.
    #[error("{what} is damaged")]
    Corrupt {
        /// The file or value at fault.
        what: String,
        /// What the reader said.
        #[source]
        source: BoxError,
    },
    /// Others kept the storage locked until the deadline passed; trying again may help.
    #[error("{what} stayed locked")]
    Locked {
        /// The file at fault.
        what: String,
        /// What the driver said.
        #[source]
        source: BoxError,
    },
    /// The storage cannot be reached or written.
    #[error("{what} is not available")]
    Unavailable {
        /// The file at fault.
        what: String,
        /// What the driver said.
        #[source]
        source: BoxError,
    },
    /// The storage is sound but made for another program or version.
    #[error("{what} is not supported: {reason}")]
    Incompatible {
        /// The file at fault.
        what: String,
        /// What was found.
        reason: String,
    },
    /// The storage behind the service failed in another way.
    #[error("{backend} memory storage failed")]
    Storage {
        /// The service's name.
        backend: &'static str,
        /// What the storage said.
        #[source]
        source: BoxError,
    },
}

impl MemoryError {
    /// Returns the stable name of the error for event error codes and HTTP bodies.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "NotImplementedError",
            Self::Corrupt { .. } => "CorruptStorageError",
            Self::Locked { .. } => "StorageLockedError",
            Self::Unavailable { .. } => "StorageUnavailableError",
            Self::Incompatible { .. } => "UnsupportedStorageError",
            Self::Storage { .. } => "MemoryStorageError",
        }
    }
}
