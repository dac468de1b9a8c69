//! [`HistoryHandle`]: what an engine keeps in a history. Node code only reads one.

use pleach_core::NodePath;

use crate::History;
use crate::history::{PlannedRuns, RunKey};

/// What an engine keeps in a history.
#[derive(Clone, Copy, Debug)]
pub struct HistoryHandle<'a>(&'a History);

impl<'a> HistoryHandle<'a> {
    /// Returns the handle of a history.
    #[must_use]
    pub fn of(history: &'a History) -> Self {
        Self(history)
    }

    /// Keeps the plan for the workflow run at `path` until the run starts; not for a run that left no event.
    pub fn keep_plan(self, path: &NodePath, plan: PlannedRuns) {
        self.0.keep_plan(path, plan);
    }

    /// Takes the plan that was kept for the workflow run at `path`.
    #[must_use]
    pub fn take_plan(self, path: &NodePath) -> Option<PlannedRuns> {
        self.0.take_plan(path)
    }

    /// Records that a run is proven to be complete by what followed it.
    pub fn note_complete(self, key: RunKey) {
        self.0.note_complete(key);
    }
}
