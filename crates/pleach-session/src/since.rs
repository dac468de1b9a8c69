//! What was stored behind a revision.

use pleach_core::Session;

/// The answer to [`events_since`](crate::SessionService::events_since).
#[derive(Clone, Debug, PartialEq)]
pub enum Since {
    /// The session as it is now, with merged state and only the events that were stored since, in the order they were
    /// appended; none of them when nothing was.
    Events(Session),
    /// The store cannot tell what came behind that revision, because the session was made again or rewritten by hand:
    /// load it.
    Unknown,
}
