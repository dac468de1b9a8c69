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
    /// The storage behind the service failed.
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
            Self::Storage { .. } => "MemoryStorageError",
        }
    }
}
