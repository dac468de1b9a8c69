//! [`SessionError`].

use std::fmt;

use pleach_core::{BoxError, EventId, Revision, SessionKey, StateOpError, Unstorable, with_causes};

use crate::redaction_error::{RedactionError, RedactionFault};

/// The result of every session service operation.
pub type SessionResult<T> = Result<T, SessionError>;

/// A failed session operation. Nothing was written unless a variant says otherwise.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// A session with this key is already stored. ADK: `AlreadyExistsError`.
    AlreadyExists(SessionKey),
    /// No session with this key is stored. ADK: `SessionNotFoundError`.
    NotFound(SessionKey),
    /// Another writer appended since the session was loaded; load it again. ADK: `StaleSessionError`.
    Stale {
        /// The session.
        key: SessionKey,
        /// The revision the storage holds now.
        stored: Revision,
        /// The revision the caller had loaded.
        ours: Revision,
    },
    /// The session already holds a different event with the same id.
    // S34
    EventAlreadyExists {
        /// The session.
        key: SessionKey,
        /// The id both events carry.
        event: EventId,
    },
    /// A value no backend may store, such as a text with U+0000.
    // S47
    Unstorable {
        /// The session.
        key: SessionKey,
        /// Where the value is, such as `actions.state_delta.note`.
        field: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// An operation of the event does not fit the stored value of its state key. Nothing is stored; write the key with an
    /// operation of its type, or set it first.
    StateOperation {
        /// The session.
        key: SessionKey,
        /// The state key, with its prefix.
        state_key: String,
        /// Why the operation does not fit.
        reason: Box<StateOpError>,
    },
    /// Stored data cannot be read.
    Corrupt {
        /// The file, row or column at fault.
        what: String,
        /// The error of the reader.
        source: BoxError,
    },
    /// A value of an event is kept outside of the event, as a payload, which is missing or damaged.
    PayloadLost(Box<LostPayload>),
    /// Values of an event cannot be removed.
    Redaction(Box<RedactionError>),
    /// Other writers kept the storage locked until the deadline passed; trying again may help.
    Locked {
        /// The file or server at fault.
        what: String,
        /// The error of the driver.
        source: BoxError,
    },
    /// The storage cannot be reached or written: missing folder, no permission, disk full, service closed.
    ///
    /// An append that failed so may have been stored; appending the same event again is safe, and shows it.
    Unavailable {
        /// The file or server at fault.
        what: String,
        /// The error of the driver.
        source: BoxError,
    },
    /// The storage is sound but made for another program or version.
    Unsupported {
        /// The file or server at fault.
        what: String,
        /// What was found, and what to do about it.
        reason: String,
    },
    /// The storage was opened to be read only, and something was to be written. Nothing was.
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

/// The place of a value whose payload is missing or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPayload {
    /// The session.
    pub key: SessionKey,
    /// The event.
    pub event: EventId,
    /// Where the value is in the event, such as `output` or `content.parts[0].text`.
    pub place: String,
    /// The name of the artifact that should hold it.
    pub artifact: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyExists(key) => write!(f, "session {key} already exists: load it, or choose another id"),
            Self::NotFound(key) => write!(f, "session {key} not found: create it, or check its app, user and id"),
            Self::Stale { key, stored, ours } => write!(
                f,
                "session {key} is stale (stored revision {stored}, ours {ours}): load it again and repeat the change"
            ),
            Self::EventAlreadyExists { key, event } => {
                write!(
                    f,
                    "session {key} already holds another event with the id {event}: give the event an id of its own"
                )
            }
            Self::Unstorable { key, field, reason } => {
                write!(f, "session {key}: {field} cannot be stored: {reason}; nothing was stored, change the value")
            }
            Self::StateOperation { key, state_key, reason } => {
                write!(
                    f,
                    "session {key}: state key `{state_key}` is not changed and the event is not stored: {reason}; use an operation that fits the value, or set the key first"
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
                write!(f, "{what} stayed locked: {}; others are writing to it, try again", with_causes(&**source))
            }
            Self::Unavailable { what, source } => write!(
                f,
                "{what} is not available: {}; check that it can be reached, read and written, then try again: the same append is not stored twice",
                with_causes(&**source)
            ),
            Self::Unsupported { what, reason } => write!(f, "{what} is not supported: {reason}"),
            Self::ReadOnly { what } => write!(f, "{what} was opened to be read only: open it for writing"),
            Self::Storage { backend, source } => write!(
                f,
                "{backend} storage failed: {}; look into the log of the storage, then try again",
                with_causes(&**source)
            ),
        }
    }
}

// The causes are in the text, so there is no `source()`.
impl std::error::Error for SessionError {}

impl SessionError {
    /// Makes the error for a value that no backend may store.
    pub(crate) fn unstorable(key: &SessionKey, fault: Unstorable) -> Self {
        Self::Unstorable { key: key.clone(), field: fault.field, reason: fault.reason }
    }

    /// Makes the error for an operation that does not fit the value of `state_key`.
    pub(crate) fn state_operation(key: &SessionKey, state_key: &str, reason: StateOpError) -> Self {
        Self::StateOperation { key: key.clone(), state_key: state_key.to_owned(), reason: Box::new(reason) }
    }

    /// Makes the error for a redaction that is refused; `path` is empty where none is at fault.
    pub(crate) fn redaction(key: &SessionKey, event: &EventId, path: &str, fault: RedactionFault) -> Self {
        let (key, event, path) = (key.clone(), event.clone(), path.to_owned());
        Self::Redaction(Box::new(RedactionError { key, event, path, fault }))
    }

    /// The stable code for events and HTTP bodies: google-adk's class name where it has one.
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

    /// True when the fault is in what is stored of one session, and not in the storage: the others can be used.
    pub fn is_of_one_session(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::PayloadLost(_))
    }

    /// True when loading the session again and repeating the work may succeed.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }
}
