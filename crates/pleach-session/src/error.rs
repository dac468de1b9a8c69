//! What can go wrong in a session service.

use pleach_core::{BoxError, EventId, Revision, SessionKey, StateOpError};

/// The result of every session service operation.
pub type SessionResult<T> = Result<T, SessionError>;

/// A failed session operation. Nothing was written unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A session with this key is already stored. ADK: `AlreadyExistsError`.
    #[error("session {0} already exists")]
    AlreadyExists(SessionKey),
    /// No session with this key is stored. ADK: `SessionNotFoundError`.
    #[error("session {0} not found")]
    NotFound(SessionKey),
    /// Another writer appended since the session was loaded; load it again. ADK: `StaleSessionError`.
    #[error("session {key} is stale (stored revision {stored}, ours {ours})")]
    Stale {
        /// The session.
        key: SessionKey,
        /// The revision the storage holds now.
        stored: Revision,
        /// The revision the caller had loaded.
        ours: Revision,
    },
    /// The session already holds a different event with the same id (S34).
    #[error("session {key} already holds another event with the id {event}")]
    EventAlreadyExists {
        /// The session.
        key: SessionKey,
        /// The id both events carry.
        event: EventId,
    },
    /// A value no backend may store, such as a text with U+0000 (S47).
    #[error("session {key}: {field} cannot be stored: {reason}")]
    Unstorable {
        /// The session.
        key: SessionKey,
        /// Where the value stands, such as `actions.state_delta.note`.
        field: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// An operation of the event does not fit the stored value of its state key. Nothing is stored; write the key with an
    /// operation of its type, or set it first.
    #[error("session {key}: state key `{state_key}` is not changed: {reason}")]
    StateOperation {
        /// The session.
        key: SessionKey,
        /// The state key, with its prefix.
        state_key: String,
        /// Why the operation does not fit.
        reason: StateOpError,
    },
    /// Stored data cannot be understood.
    #[error("{what} is damaged")]
    Corrupt {
        /// The file, row or column at fault.
        what: String,
        /// What the reader said.
        #[source]
        source: BoxError,
    },
    /// Other writers kept the storage locked until the deadline passed; trying again may help.
    #[error("{what} stayed locked")]
    Locked {
        /// The file or server at fault.
        what: String,
        /// What the driver said.
        #[source]
        source: BoxError,
    },
    /// The storage cannot be reached or written: missing folder, no permission, disk full, service closed.
    ///
    /// An append that failed so may have been stored; appending the same event again is safe and tells.
    #[error("{what} is not available")]
    Unavailable {
        /// The file or server at fault.
        what: String,
        /// What the driver said.
        #[source]
        source: BoxError,
    },
    /// The storage is sound but made for another program or version.
    #[error("{what} is not supported: {reason}")]
    Unsupported {
        /// The file or server at fault.
        what: String,
        /// What was found and what to do about it.
        reason: String,
    },
    /// Any other failure of the storage.
    #[error("{backend} storage failed")]
    Storage {
        /// The backend's name, such as `sqlite`.
        backend: &'static str,
        /// What the driver said.
        #[source]
        source: BoxError,
    },
}

impl SessionError {
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
            Self::Locked { .. } => "StorageLockedError",
            Self::Unavailable { .. } => "StorageUnavailableError",
            Self::Unsupported { .. } => "UnsupportedStorageError",
            Self::Storage { .. } => "StorageError",
        }
    }

    /// True when loading the session again and repeating the work may succeed.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }
}
