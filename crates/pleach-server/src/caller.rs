//! [`Caller`]: the sender of a request, and the users for whom it may act.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use pleach_core::UserId;

use crate::error::ApiError;

/// The sender of a request. A service that authenticates its callers binds each of them to a user. A request for
/// another user is then refused with 403, whether that user is named in the path or in the body.
///
/// A layer in front of the routes puts the caller into the extensions of the request, or
/// [`Server::caller`](crate::Server::caller) reads it from the request. Without either, every caller is
/// [`Caller::Anyone`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A caller that may act for every user.
    Anyone,
    /// A caller that may act for this user.
    User(UserId),
    /// An unknown caller: every request except the health check is refused with 401.
    Unknown,
}

impl Caller {
    /// Refuses a request for a user for whom the caller may not act.
    pub(crate) fn check(&self, user: &UserId) -> Result<(), ApiError> {
        match self {
            Self::Anyone => Ok(()),
            Self::User(own) if own == user => Ok(()),
            Self::User(_) => Err(ApiError::forbidden("The caller may not act for this user.")),
            Self::Unknown => Err(ApiError::unauthorized()),
        }
    }
}

/// Finds the caller of a request.
#[derive(Clone)]
pub(crate) struct FindCaller(Arc<dyn Fn(&Parts) -> Caller + Send + Sync>);

impl FindCaller {
    pub(crate) fn new(find: impl Fn(&Parts) -> Caller + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }
}

impl Default for FindCaller {
    fn default() -> Self {
        Self::new(|parts| parts.extensions.get::<Caller>().cloned().unwrap_or(Caller::Anyone))
    }
}

impl FindCaller {
    pub(crate) fn of(&self, parts: &Parts) -> Caller {
        (self.0)(parts)
    }
}

impl fmt::Debug for FindCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FindCaller")
    }
}
