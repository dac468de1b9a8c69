//! Classification of failed statements, and the errors of callers.

use std::fmt;
use std::sync::Arc;

use pleach_core::{BoxError, without_data};
use pleach_session::SessionError;

use crate::refusal::Refusal;

const BACKEND: &str = "postgres";

/// The name of the database in errors. It never contains a password.
#[derive(Clone, Debug)]
pub(crate) struct Server(Arc<str>);

impl Server {
    pub(crate) fn new(name: String) -> Self {
        Self(Arc::from(name))
    }

    pub(crate) fn fault(&self, error: sqlx::Error) -> SessionError {
        let fault = Fault::of(&error);
        let (what, source): (_, BoxError) = (self.to_string(), Box::new(error));
        match fault {
            Fault::Refused(refusal) => SessionError::Unsupported { what, reason: refusal.to_string() },
            Fault::Locked => SessionError::Locked { what, source },
            Fault::Lost | Fault::Again | Fault::Pooled | Fault::Unavailable => {
                SessionError::Unavailable { what, source }
            }
            Fault::Duplicate | Fault::NotAnObject | Fault::Other => SessionError::Storage { backend: BACKEND, source },
        }
    }

    /// Creates the error for an operation that got no answer, although no statement failed.
    pub(crate) fn unavailable(&self, reason: &'static str) -> SessionError {
        SessionError::Unavailable { what: self.to_string(), source: BoxError::from(reason) }
    }

    /// Creates the error for a stored value that cannot be read; `place` is its row and column.
    pub(crate) fn corrupt(&self, place: impl fmt::Display, source: impl Into<BoxError>) -> SessionError {
        SessionError::Corrupt { what: format!("{place} in {self}"), source: without_data(source) }
    }

    pub(crate) fn unsupported(&self, reason: impl Into<String>) -> SessionError {
        SessionError::Unsupported { what: self.to_string(), reason: reason.into() }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kind of a statement's failure. It decides whether to repeat the work and whether to replace the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection broke or there was none, so the statement may have been executed.
    Lost,
    /// The transaction was rolled back in favour of another one; nothing was written.
    Again,
    /// A row with this key exists.
    Duplicate,
    /// The target of a merge is not an object; in this case the statements write NULL.
    NotAnObject,
    /// A lock was not acquired in time.
    Locked,
    /// A prepared statement has changed or is gone, because a pooler lends the server's session to others as well.
    /// Nothing was executed.
    Pooled,
    /// A pooler refuses something that this program requests of every server.
    Refused(Refusal),
    /// The server refuses service: because of the password, a privilege, or lack of space.
    Unavailable,
    /// The failure concerns only this statement.
    Other,
}

impl Fault {
    pub(crate) fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => Self::Lost,
            sqlx::Error::Configuration(_) | sqlx::Error::Tls(_) => Self::Unavailable,
            sqlx::Error::Database(error) => {
                let code = error.code();
                code.map_or(Self::Other, |code| {
                    Self::from_pooler(&code, error.message()).unwrap_or(Self::from_code(&code))
                })
            }
            _ => Self::Other,
        }
    }

    /// Reads the errors that reveal a pooler. The pooler's own errors share a code, so their messages are compared.
    fn from_pooler(code: &str, message: &str) -> Option<Self> {
        match code {
            "26000" | "42P05" => Some(Self::Pooled),
            "08P01" if message.starts_with("bind message supplies") => Some(Self::Pooled),
            "08P01" => Refusal::of(message).map(Self::Refused),
            _ => None,
        }
    }

    fn from_code(code: &str) -> Self {
        match code {
            // The server is shutting down, has crashed or is starting, the connection was idle for too long, or there
            // are too many connections.
            "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" => Self::Lost,
            "40001" | "40P01" => Self::Again,
            "23505" => Self::Duplicate,
            "23502" => Self::NotAnObject,
            "55P03" => Self::Locked,
            "3D000" | "42501" | "25006" | "25P04" | "57014" | "57P04" => Self::Unavailable,
            _ => match code.get(..2) {
                Some("08") => Self::Lost,
                Some("28" | "53" | "58") => Self::Unavailable,
                _ => Self::Other,
            },
        }
    }

    /// Returns `true` if the same work may succeed a moment later.
    pub(crate) fn is_passing(self) -> bool {
        matches!(self, Self::Lost | Self::Again | Self::Pooled)
    }
}

/// The reason why an operation has no answer: an error of the driver, or an error of the service.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The statement failed.
    Sql(sqlx::Error),
    /// The answer is an error.
    Answer(SessionError),
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<SessionError> for Trouble {
    fn from(error: SessionError) -> Self {
        Self::Answer(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_connection_leaves_the_outcome_open() {
        let broken = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        assert_eq!(Fault::of(&sqlx::Error::Io(broken)), Fault::Lost);
        for (code, expected) in [
            ("57P01", Fault::Lost),
            ("57P05", Fault::Lost),
            ("25P03", Fault::Lost),
            ("57P04", Fault::Unavailable),
            ("57014", Fault::Unavailable),
            ("08006", Fault::Lost),
            ("40001", Fault::Again),
            ("28P01", Fault::Unavailable),
            ("53100", Fault::Unavailable),
            ("22001", Fault::Other),
        ] {
            assert_eq!(Fault::from_code(code), expected, "{code}");
        }
    }

    #[test]
    fn errors_that_show_a_pooler_differ_from_others_with_their_code() {
        let bind = "bind message supplies 7 parameters, but prepared statement \"sqlx_s_1\" requires 3";
        for (code, message, expected) in [
            ("26000", "prepared statement \"sqlx_s_1\" does not exist", Some(Fault::Pooled)),
            ("42P05", "prepared statement \"sqlx_s_1\" already exists", Some(Fault::Pooled)),
            ("08P01", bind, Some(Fault::Pooled)),
            ("08P01", "unsupported startup parameter: options", Some(Fault::Refused(Refusal::Parameter))),
            ("08P01", "unsupported startup parameter in options: a", Some(Fault::Refused(Refusal::Parameter))),
            (
                "08P01",
                "transaction blocks not allowed in statement pooling mode",
                Some(Fault::Refused(Refusal::StatementMode)),
            ),
            ("08P01", "query_wait_timeout", None),
            ("08006", bind, None),
        ] {
            assert_eq!(Fault::from_pooler(code, message), expected, "{message}");
        }
    }
}
