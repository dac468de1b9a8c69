//! What a failed statement means to the caller.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pleach_core::BoxError;
use pleach_session::SessionError;

const BACKEND: &str = "sqlite";

/// The file as errors name it.
#[derive(Clone, Debug)]
pub(crate) struct File(Arc<str>);

impl File {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::from(format!("SQLite file {}", path.display())))
    }

    pub(crate) fn fault(&self, error: sqlx::Error) -> SessionError {
        self.shared_fault(&Arc::new(error))
    }

    /// The same fault told to several callers.
    pub(crate) fn shared_fault(&self, error: &Arc<sqlx::Error>) -> SessionError {
        let what = self.to_string();
        let source: BoxError = Box::new(Arc::clone(error));
        match Fault::of(error) {
            Fault::Busy => SessionError::Locked { what, source },
            Fault::Damaged | Fault::Unreadable => SessionError::Corrupt { what, source },
            Fault::Unavailable => SessionError::Unavailable { what, source },
            Fault::Duplicate | Fault::Other => SessionError::Storage { backend: BACKEND, source },
        }
    }

    /// An opening fault told to those who waited behind the first.
    pub(crate) fn retold(&self, error: &SessionError) -> SessionError {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            text = format!("{text}: {inner}");
            source = inner.source();
        }
        SessionError::Unavailable { what: self.to_string(), source: text.into() }
    }

    /// A stored value that cannot be read; `place` says where it stands.
    pub(crate) fn corrupt(&self, place: impl fmt::Display, source: impl Into<BoxError>) -> SessionError {
        SessionError::Corrupt { what: format!("{place} in {self}"), source: source.into() }
    }

    pub(crate) fn unsupported(&self, reason: impl Into<String>) -> SessionError {
        SessionError::Unsupported { what: self.to_string(), reason: reason.into() }
    }

    /// The service was closed, or its writer is gone.
    pub(crate) fn closed(&self) -> SessionError {
        let source = BoxError::from("the session service is closed");
        SessionError::Unavailable { what: self.to_string(), source }
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a failed statement says about the file and about repeating the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another connection holds the lock; nothing happened.
    Busy,
    /// A row with this key is already there.
    Duplicate,
    /// The file is not a database, or a broken one.
    Damaged,
    /// A value is not of the kind its column has; the fault of one row.
    Unreadable,
    /// The file cannot be reached or written; the connection is not worth keeping.
    Unavailable,
    /// The fault of this statement.
    Other,
}

impl Fault {
    pub(crate) fn of(error: &sqlx::Error) -> Self {
        let sqlx::Error::Database(error) = error else {
            return match error {
                sqlx::Error::Io(_)
                | sqlx::Error::WorkerCrashed
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed => Self::Unavailable,
                sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Self::Unreadable,
                _ => Self::Other,
            };
        };
        if error.is_unique_violation() {
            return Self::Duplicate;
        }
        // The low byte of an extended result code is the primary one.
        let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(1);
        match code & 0xff {
            5 | 6 => Self::Busy,
            8 | 10 | 13 | 14 | 15 | 23 => Self::Unavailable,
            11 | 26 => Self::Damaged,
            _ => Self::Other,
        }
    }

    /// True when the file cannot be written whatever is tried.
    pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
        let code = error.as_database_error().and_then(|error| error.code());
        code.and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| code & 0xff == 8)
    }

    /// True when every statement of a transaction fares the same, so that trying them one by one tells nothing.
    pub(crate) fn is_shared(self) -> bool {
        self == Self::Busy || self.is_fatal()
    }

    /// True when the connection itself must be replaced.
    pub(crate) fn is_fatal(self) -> bool {
        matches!(self, Self::Damaged | Self::Unavailable)
    }
}
