//! [`Since`]: the changes after a revision.

use pleach_core::Session;

/// The result of [`events_since`](crate::SessionService::events_since).
#[derive(Clone, Debug, PartialEq)]
pub enum Since {
    /// The session in its current state, with only the events that were stored after the head was made, in the order
    /// of their appends.
    Events(Session),
    /// The store does not know the revision, because the session was deleted and created again or edited by hand. Load the
    /// session.
    Unknown,
}
