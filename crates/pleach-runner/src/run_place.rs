//! [`RunPlace`]: where in a session a node run began.

use std::sync::Arc;

use pleach_context::engine::completed_runs;
use pleach_core::{Event, InvocationId, NodePath, Session};
use pleach_session::effective_events;

use crate::RunError;

/// The first event of a node run, or of a run below it.
pub(crate) struct RunPlace {
    /// The position of the event among all of the session.
    pub(crate) place: usize,
    pub(crate) invocation: InvocationId,
    /// Runs without an output that had completed before, and are recorded on that event.
    pub(crate) completed: Vec<NodePath>,
}

impl RunPlace {
    /// Finds the run at `path` in the last invocation that has one.
    ///
    /// # Errors
    /// [`RunError::UnknownRun`] when no invocation that counts has such a run.
    pub(crate) fn find(session: &Session, path: &NodePath) -> Result<Self, RunError> {
        let belongs = |run: &NodePath| run == path || run.is_descendant_of(path);
        let is_of_run = |event: &Event| {
            !path.is_root() && (belongs(event.path()) || completed_runs(event).any(|run| belongs(&run)))
        };
        let live = effective_events(&session.events);
        let last = live.iter().rev().find(|event| !event.is_from_user() && is_of_run(event));
        let first = last.and_then(|last| {
            live.iter().find(|event| event.invocation_id() == last.invocation_id() && is_of_run(event))
        });
        let place = first.and_then(|first| session.events.iter().position(|event| Arc::ptr_eq(event, first)));
        let Some(place) = place else {
            return Err(RunError::UnknownRun { session: session.key().clone(), path: path.clone() });
        };
        let first = &session.events[place];
        Ok(Self {
            place,
            invocation: first.invocation_id().clone(),
            completed: completed_runs(first).filter(|run| !belongs(run)).collect(),
        })
    }
}
