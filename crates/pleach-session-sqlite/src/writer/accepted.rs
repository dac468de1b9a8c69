//! [`Accepted`]: an append that passed the checks of its batch.

use std::sync::Arc;

use super::batch::{Append, Appended, Renewed, Resolved};

/// An append that the batch writes.
pub(super) struct Accepted<'a> {
    pub(super) append: &'a Append,
    pub(super) resolved: Option<Box<Resolved>>,
    pub(super) behind: Renewed,
}

impl Accepted<'_> {
    /// Returns the event as JSON text.
    pub(super) fn data(&self) -> &Arc<str> {
        self.resolved.as_ref().map_or(&self.append.data, |resolved| &resolved.data)
    }

    /// Returns the answer for the caller.
    pub(super) fn appended(&self) -> Appended {
        let resolved = self.resolved.as_ref();
        Appended { renewed: self.behind, stored: resolved.map(|resolved| Arc::clone(&resolved.event)) }
    }
}
