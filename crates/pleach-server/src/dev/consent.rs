//! [`Consent`]: whether the user agrees to telemetry of the UI.
// H102

use std::sync::{Mutex, PoisonError};

/// The user's answer, if there is one. It is kept only in memory. The server itself sends no telemetry.
#[derive(Debug, Default)]
pub(crate) struct Consent(Mutex<Option<bool>>);

impl Consent {
    pub(crate) fn given(&self) -> Option<bool> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, given: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(given);
    }
}
