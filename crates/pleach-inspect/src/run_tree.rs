//! [`RunTree`]: the runs of an invocation's nodes.

mod asked;
mod build;
mod model;
mod tally;

use std::sync::Arc;

use pleach_core::{Event, InvocationId, NodePath};

pub use model::{Attempt, NodeRun, RunTree, TurnWork, Work};

use crate::timeline::live;

impl RunTree {
    /// Reads the runs of an invocation from the events of its session.
    #[must_use]
    pub fn of(events: &[Arc<Event>], invocation: &InvocationId) -> Self {
        let live = live(events);
        let own = || events.iter().enumerate().filter(|(_, event)| event.invocation_id() == invocation);
        let counting: Vec<_> = own().filter(|(_, event)| live.contains(&Arc::as_ptr(event))).collect();
        if counting.is_empty() {
            return build::tree(&own().collect::<Vec<_>>(), invocation, false);
        }
        build::tree(&counting, invocation, true)
    }

    /// Returns the run at a path.
    #[must_use]
    pub fn run(&self, path: &NodePath) -> Option<&NodeRun> {
        self.runs.iter().find(|run| run.path == *path)
    }
}

#[cfg(test)]
mod tests;
