//! [`Failures`]: counts how often tools have failed in a row.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The maximum number of tools that are counted at once. A model may invent any number of names.
const MAX_TOOLS: usize = 1_000;

/// The numbers of consecutive failures, by the name of the tool.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Counts a failure, and returns the new count.
    pub(super) fn count(&self, tool: &str) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(tool) {
            *count = count.saturating_add(1);
            return *count;
        }
        // A tool that fails often must not lose its count to invented names.
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
    fn invented_names_do_not_displace_a_tool_that_fails_often() {
        let failures = Failures::default();
        failures.count("real");
        failures.count("real");
        (0..2 * MAX_TOOLS).for_each(|number| assert_eq!(failures.count(&format!("invented_{number}")), 1));
        assert_eq!(failures.count("real"), 3);
        assert!(failures.0.lock().unwrap().len() <= MAX_TOOLS);
    }
}
