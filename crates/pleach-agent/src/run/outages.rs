//! [`Outages`]: the toolsets of an agent that are left out. It is kept so that an outage is logged once, not once per
//! request.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The names of the toolsets that are left out at present.
#[derive(Debug, Default)]
pub(crate) struct Outages(Mutex<HashSet<String>>);

impl Outages {
    fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a toolset is left out. Returns `true` if it was not left out before.
    pub(crate) fn begin(&self, toolset: &str) -> bool {
        let mut names = self.names();
        !names.contains(toolset) && names.insert(toolset.to_owned())
    }

    /// Notes that a toolset has listed its tools. Returns `true` if it was left out before.
    pub(crate) fn end(&self, toolset: &str) -> bool {
        self.names().remove(toolset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_and_ends_once() {
        let outages = Outages::default();
        assert_eq!([outages.begin("a"), outages.begin("a"), outages.begin("b")], [true, false, true]);
        assert_eq!([outages.end("a"), outages.end("a"), outages.begin("a")], [true, false, true]);
    }
}
