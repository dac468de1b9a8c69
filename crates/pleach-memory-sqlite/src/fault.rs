//! Classification of failed statements, and the errors of callers.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pleach_core::{BoxError, without_data};
use pleach_memory::MemoryError;

/// The name of the file in errors.
#[derive(Clone, Debug)]
pub(crate) struct File(Arc<str>);

/// Names the file of a failed statement. Its source is the failure.
#[derive(Debug, thiserror::Error)]
#[error("{file}")]
struct InFile {
    file: File,
    source: sqlx::Error,
}

impl File {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::from(format!("SQLite file {}", path.display())))
    }

    pub(crate) fn fault(&self, error: sqlx::Error) -> MemoryError {
        let what = self.to_string();
        match Fault::of(&error) {
            Fault::Busy => MemoryError::Locked { what, source: error.into() },
            Fault::Damaged => MemoryError::Corrupt { what, source: error.into() },
            Fault::Unavailable => MemoryError::Unavailable { what, source: error.into() },
            Fault::Other => {
                let source = Box::new(InFile { file: self.clone(), source: error });
                MemoryError::Storage { backend: "sqlite", source }
            }
        }
    }

    /// Creates the error for a file that cannot be reached.
    pub(crate) fn unavailable(&self, source: impl Into<BoxError>) -> MemoryError {
        MemoryError::Unavailable { what: self.to_string(), source: source.into() }
    }

    /// Creates the error for a stored value that cannot be read; `place` is its row and column.
    pub(crate) fn corrupt(&self, place: impl fmt::Display, source: impl Into<BoxError>) -> MemoryError {
        MemoryError::Corrupt { what: format!("{place} in {self}"), source: without_data(source) }
    }

    /// Creates the error for a file that is intact but was not made for this program.
    pub(crate) fn incompatible(&self, reason: impl Into<String>) -> MemoryError {
        MemoryError::Incompatible { what: self.to_string(), reason: reason.into() }
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kind of a statement's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another connection holds the lock; nothing was written.
    Busy,
    /// The file is not a database, or it is damaged.
    Damaged,
    /// The file cannot be reached or written.
    Unavailable,
    /// The failure concerns only this statement.
    Other,
}

impl Fault {
    pub(crate) fn of(error: &sqlx::Error) -> Self {
        let sqlx::Error::Database(error) = error else {
            return match error {
                sqlx::Error::PoolTimedOut => Self::Busy,
                sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed => Self::Unavailable,
                _ => Self::Other,
            };
        };
        // The low byte of an extended result code is the primary one.
        let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(1);
        match code & 0xff {
            5 | 6 => Self::Busy,
            8 | 10 | 13 | 14 | 15 | 23 => Self::Unavailable,
            11 | 26 => Self::Damaged,
            _ => Self::Other,
        }
    }
}
