//! [`SessionError`].

use std::fmt;

use pleach_core::{BoxError, EventId, Revision, SessionKey, StateOpError, Unstorable, with_causes};

use crate::redaction_error::{RedactionError, RedactionFault};

/// The result of every session service operation.
pub type SessionResult<T> = Result<T, SessionError>;

/// A failed session operation. Nothing was written unless the variant says otherwise.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// A session with this key is already stored. ADK: `AlreadyExistsError`.
    AlreadyExists(SessionKey),
    /// No session with this key is stored. ADK: `SessionNotFoundError`.
    NotFound(SessionKey),
    /// Another writer changed the session since it was loaded; load it again. ADK: `StaleSessionError`.
    Stale {
        /// The session.
        key: SessionKey,
        /// The revision that is stored now.
        stored: Revision,
        /// The revision that the caller had loaded.
        ours: Revision,
    },
    /// The session already holds a different event with the same id.
    // S34
    EventAlreadyExists {
        /// The session.
        key: SessionKey,
        /// The id that both events have.
        event: EventId,
    },
    /// A value that no backend may store, such as a string with U+0000.
    // S47
    Unstorable {
        /// The session.
        key: SessionKey,
        /// The path of the value, such as `actions.state_delta.note`.
        field: String,
        /// The reason why the value is refused.
        reason: &'static str,
    },
    /// An operation of the event does not fit the stored value of its state key. Nothing is stored. Use an operation
    /// that fits the value, or set the key first.
    StateOperation {
        /// The session.
        key: SessionKey,
        /// The state key, with its prefix.
        state_key: String,
        /// The reason why the operation does not fit.
        reason: Box<StateOpError>,
    },
    /// Stored data cannot be read.
    Corrupt {
        /// The file, row or column at fault.
        what: String,
        /// The error that reading reported.
        source: BoxError,
    },
    /// The payload of a value that is kept outside its event is missing or damaged.
    PayloadLost(Box<LostPayload>),
    /// A redaction was refused.
    Redaction(Box<RedactionError>),
    /// Other writers kept the storage locked until the deadline passed; trying again may help.
    Locked {
        /// The file or server at fault.
        what: String,
        /// The error of the driver.
        source: BoxError,
    },
    /// The storage cannot be reached or written: a missing folder, no permission, a full disk, a closed service.
    ///
    /// A failed append may have been stored nevertheless. Appending the same event again is safe and returns the
    /// stored one.
    Unavailable {
        /// The file or server at fault.
        what: String,
        /// The error of the driver.
        source: BoxError,
    },
    /// The storage is intact, but was made for another program or version.
    Unsupported {
        /// The file or server at fault.
        what: String,
        /// A description of what was found, and what to do about it.
        reason: String,
    },
    /// The storage is open read-only, so nothing was written.
    ReadOnly {
        /// The file or server.
        what: String,
    },
    /// Any other failure of the storage.
    Storage {
        /// The backend's name, such as `sqlite`.
        backend: &'static str,
        /// The error of the driver.
        source: BoxError,
    },
}

/// A value whose payload is missing or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPayload {
    /// The session.
    pub key: SessionKey,
    /// The event.
    pub event: EventId,
    /// The path of the value in the event, such as `output` or `content.parts[0].text`.
    pub place: String,
    /// The name of the artifact that should hold the payload.
    pub artifact: String,
    /// A description of what is wrong with the payload.
    pub reason: String,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyExists(key) => write!(f, "session {key} already exists: load it, or choose another id"),
            Self::NotFound(key) => write!(f, "session {key} not found: create it, or check its app, user and id"),
            Self::Stale { key, stored, ours } => write!(
                f,
                "session {key} has changed since it was loaded (stored revision {stored}, loaded {ours}); nothing was written. Load it again and repeat the change"
            ),
            Self::EventAlreadyExists { key, event } => {
                write!(f, "session {key} already holds another event with the id {event}: give the event another id")
            }
            Self::Unstorable { key, field, reason } => {
                write!(f, "session {key}: {field} cannot be stored: {reason}; nothing was stored. Change the value")
            }
            Self::StateOperation { key, state_key, reason } => {
                write!(
                    f,
                    "session {key}: the operation on state key `{state_key}` failed: {reason}. The event was not stored. Use an operation that fits the value, or set the key first"
                )
            }
            Self::Corrupt { what, source } => {
                write!(f, "{what} is damaged: {}; restore it from a backup", with_causes(&**source))
            }
            Self::PayloadLost(lost) => {
                let LostPayload { key, event, place, artifact, reason } = &**lost;
                write!(
                    f,
                    "session {key}: {place} of event {event} cannot be read, because its payload {artifact} {reason}; restore that artifact from a backup, or delete the session"
                )
            }
            Self::Redaction(error) => error.fmt(f),
            Self::Locked { what, source } => {
                write!(f, "{what} stayed locked: {}. Try again when other work on it has ended", with_causes(&**source))
            }
            Self::Unavailable { what, source } => write!(
                f,
                "{what} is not available: {}. Check that it can be reached, read and written, then try again; repeating the same append is safe",
                with_causes(&**source)
            ),
            Self::Unsupported { what, reason } => write!(f, "{what} is not supported: {reason}"),
            Self::ReadOnly { what } => {
                write!(f, "{what} is open read-only, so nothing was written. Open it for writing")
            }
            Self::Storage { backend, source } => write!(
                f,
                "{backend} storage failed: {}. Check the log of the storage, then try again",
                with_causes(&**source)
            ),
        }
    }
}

// The text contains the causes, so there is no `source()`.
impl std::error::Error for SessionError {}

impl SessionError {
    /// Creates the error for a value that no backend may store.
    pub(crate) fn unstorable(key: &SessionKey, fault: Unstorable) -> Self {
        Self::Unstorable { key: key.clone(), field: fault.field, reason: fault.reason }
    }

    /// Creates the error for an operation that does not fit the value of `state_key`.
    pub(crate) fn state_operation(key: &SessionKey, state_key: &str, reason: StateOpError) -> Self {
        Self::StateOperation { key: key.clone(), state_key: state_key.to_owned(), reason: Box::new(reason) }
    }

    /// Creates the error for a refused redaction; `path` is empty if no path is at fault.
    pub(crate) fn redaction(key: &SessionKey, event: &EventId, path: &str, fault: RedactionFault) -> Self {
        let (key, event, path) = (key.clone(), event.clone(), path.to_owned());
        Self::Redaction(Box::new(RedactionError { key, event, path, fault }))
    }

    /// Returns the stable code for events and HTTP bodies: google-adk's class name where there is one.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists(_) => "AlreadyExistsError",
            Self::NotFound(_) => "SessionNotFoundError",
            Self::Stale { .. } => "StaleSessionError",
            Self::EventAlreadyExists { .. } => "EventAlreadyExistsError",
            Self::Unstorable { .. } => "UnstorableValueError",
            Self::StateOperation { .. } => "StateOperationError",
            Self::Corrupt { .. } => "CorruptStorageError",
            Self::PayloadLost(_) => "PayloadLostError",
            Self::Redaction(_) => "RedactionError",
            Self::Locked { .. } => "StorageLockedError",
            Self::Unavailable { .. } => "StorageUnavailableError",
            Self::Unsupported { .. } => "UnsupportedStorageError",
            Self::ReadOnly { .. } => "ReadOnlyStorageError",
            Self::Storage { .. } => "StorageError",
        }
    }

    /// Returns `true` if the stored data of one session is at fault, not the storage. Other sessions can then be
    /// used.
    pub fn is_of_one_session(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::PayloadLost(_))
    }

    /// Returns `true` if loading the session again and repeating the work may succeed.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }
}
