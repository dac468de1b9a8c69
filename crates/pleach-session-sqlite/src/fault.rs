//! Classification of failed statements, and the errors of callers.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pleach_core::{BoxError, without_data};
use pleach_session::SessionError;

const BACKEND: &str = "sqlite";

/// The name of the file in errors.
#[derive(Clone, Debug)]
pub(crate) struct File(Arc<str>);

impl File {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::from(format!("SQLite file {}", path.display())))
    }

    pub(crate) fn fault(&self, error: sqlx::Error) -> SessionError {
        self.shared_fault(&Arc::new(error))
    }

    /// Creates the same error for several callers.
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

    /// Copies the error of opening the file, for further callers.
    pub(crate) fn retold(&self, error: &SessionError) -> SessionError {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            text = format!("{text}: {inner}");
            source = inner.source();
        }
        SessionError::Unavailable { what: self.to_string(), source: text.into() }
    }

    /// Creates the error for a stored value that cannot be read; `place` is its row and column.
    pub(crate) fn corrupt(&self, place: impl fmt::Display, source: impl Into<BoxError>) -> SessionError {
        SessionError::Corrupt { what: format!("{place} in {self}"), source: without_data(source) }
    }

    pub(crate) fn unsupported(&self, reason: impl Into<String>) -> SessionError {
        SessionError::Unsupported { what: self.to_string(), reason: reason.into() }
    }

    pub(crate) fn read_only(&self) -> SessionError {
        SessionError::ReadOnly { what: self.to_string() }
    }

    /// Creates the error of a service that was closed, or whose writer has ended.
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

/// The kind of a statement's failure. It decides whether to repeat the work and whether to replace the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another connection holds the lock; nothing was written.
    Busy,
    /// A row with this key exists.
    Duplicate,
    /// The file is not a database, or it is damaged.
    Damaged,
    /// A value does not have the type of its column; only its row is affected.
    Unreadable,
    /// The file cannot be reached or written; the connection must be replaced.
    Unavailable,
    /// The failure concerns only this statement.
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

    /// Returns `true` if no statement can write to the file.
    pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
        let code = error.as_database_error().and_then(|error| error.code());
        code.and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| code & 0xff == 8)
    }

    /// Returns `true` if every statement of the transaction would fail in the same way, so that repeating them one by
    /// one is useless.
    pub(crate) fn is_shared(self) -> bool {
        self == Self::Busy || self.is_fatal()
    }

    /// Returns `true` if the connection itself must be replaced.
    pub(crate) fn is_fatal(self) -> bool {
        matches!(self, Self::Damaged | Self::Unavailable)
    }
}
