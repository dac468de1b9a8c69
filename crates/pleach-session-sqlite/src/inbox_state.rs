//! [`InboxState`]: the part of a service that concerns its inbox.

use std::sync::atomic::AtomicBool;

/// The part of a service that concerns its inbox.
#[derive(Debug, Default)]
pub(crate) struct InboxState {
    /// Whether the tables exist.
    pub(crate) is_made: AtomicBool,
    /// Whether a warning was logged that there is no projection.
    pub(crate) has_warned: AtomicBool,
}
