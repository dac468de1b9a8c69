//! [`Failures`]: how often tools have failed in a row.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How many tools are counted at once. A model may invent names without end.
const MAX_TOOLS: usize = 1_000;

/// The failures in a row, by the name of the tool.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Counts a failure, and returns how many there are now.
    pub(super) fn count(&self, tool: &str) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(tool) {
            *count = count.saturating_add(1);
            return *count;
        }
        if counts.len() >= MAX_TOOLS {
            counts.clear();
        }
        counts.insert(tool.to_owned(), 1);
        1
    }

    /// Forgets the failures of a tool that has succeeded.
    pub(super) fn forget(&self, tool: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(tool);
    }
}
