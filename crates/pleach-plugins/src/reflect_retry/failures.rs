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
        // A tool that fails often must not lose its count to names that nothing has.
        let fewest = || counts.iter().min_by_key(|(_, count)| **count).map(|(tool, _)| tool.clone());
        if counts.len() >= MAX_TOOLS
            && let Some(fewest) = fewest()
        {
            counts.remove(&fewest);
        }
        counts.insert(tool.to_owned(), 1);
        1
    }

    /// Forgets the failures of a tool that has succeeded.
    pub(super) fn forget(&self, tool: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(tool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_model_invents_push_out_no_tool_that_fails_often() {
        let failures = Failures::default();
        failures.count("real");
        failures.count("real");
        (0..2 * MAX_TOOLS).for_each(|number| assert_eq!(failures.count(&format!("invented_{number}")), 1));
        assert_eq!(failures.count("real"), 3);
        assert!(failures.0.lock().unwrap().len() <= MAX_TOOLS);
    }
}
