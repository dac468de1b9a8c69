//! [`RunTree`]: the runs of an invocation's nodes.

mod asked;
mod build;
mod model;
mod tally;

use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{Event, InvocationId, NodePath};
use pleach_session::effective_events_of;

pub use model::{Attempt, NodeRun, RunTree, TurnWork, Work};

impl RunTree {
    /// Reads the runs of an invocation from the events of its session.
    #[must_use]
    pub fn of(events: &[Arc<Event>], invocation: &InvocationId) -> Self {
        // This includes a rewind to the middle of the invocation, because it records which runs had completed before.
        let effective: HashSet<_> = effective_events_of(events, invocation).into_iter().map(Arc::as_ptr).collect();
        let effective: Vec<_> =
            events.iter().enumerate().filter(|(_, event)| effective.contains(&Arc::as_ptr(event))).collect();
        if effective.is_empty() {
            let own = events.iter().enumerate().filter(|(_, event)| event.invocation_id() == invocation);
            return build::tree(&own.collect::<Vec<_>>(), invocation, false);
        }
        build::tree(&effective, invocation, true)
    }

    /// Returns the run at a path, if there is one.
    #[must_use]
    pub fn run(&self, path: &NodePath) -> Option<&NodeRun> {
        self.runs.iter().find(|run| run.path == *path)
    }
}

#[cfg(test)]
mod tests;
