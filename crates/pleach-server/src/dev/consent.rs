//! [`Consent`]: whether the user agrees to telemetry of the UI.
// H102

use std::sync::{Mutex, PoisonError};

/// The user's answer, if there is one. This process sends no telemetry, and keeps the answer only in memory.
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
