//! [`InboxState`]: what a service remembers of its inbox.

use std::sync::atomic::AtomicBool;

/// What a service remembers of its inbox.
#[derive(Debug, Default)]
pub(crate) struct InboxState {
    /// The tables exist.
    pub(crate) is_made: AtomicBool,
    /// A warning was logged that the inbox is not kept.
    pub(crate) has_warned: AtomicBool,
}
