//! [`HistoryHandle`]: the engine's write access to a history. Node code can only read one.

use pleach_core::NodePath;

use crate::History;
use crate::history::{PlannedRuns, RunKey};

/// The engine's write access to a history: its plans, and the runs that it has proven to be complete.
#[derive(Clone, Copy, Debug)]
pub struct HistoryHandle<'a>(&'a History);

impl<'a> HistoryHandle<'a> {
    /// Returns the handle of a history.
    #[must_use]
    pub fn of(history: &'a History) -> Self {
        Self(history)
    }

    /// Keeps the plan for the workflow run at `path` until the run starts. Does nothing if the run left no event.
    pub fn keep_plan(self, path: &NodePath, plan: PlannedRuns) {
        self.0.keep_plan(path, plan);
    }

    /// Takes the plan that was kept for the workflow run at `path`.
    #[must_use]
    pub fn take_plan(self, path: &NodePath) -> Option<PlannedRuns> {
        self.0.take_plan(path)
    }

    /// Records that later events prove a run to be complete.
    pub fn note_complete(self, key: RunKey) {
        self.0.note_complete(key);
    }
}
