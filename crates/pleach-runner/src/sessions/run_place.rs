//! [`RunPlace`]: the place in a session where a node run began.

use std::sync::Arc;

use pleach_context::engine::completed_runs;
use pleach_core::{Event, InvocationId, NodePath, Session};
use pleach_session::{effective_events_and_rewinds, partly_rewound};

use crate::RunError;

/// Where a node run began: its first event, or the first event of a run below it.
pub(crate) struct RunPlace {
    /// The position of the event among all events of the session.
    pub(crate) place: usize,
    pub(crate) invocation: InvocationId,
    /// The runs without an output that had completed before; this event records them.
    pub(crate) completed: Vec<NodePath>,
}

impl RunPlace {
    /// Finds the run at `path` in the last invocation that has such a run.
    ///
    /// # Errors
    /// [`RunError::UnknownRun`] if the effective events have no such run.
    pub(crate) fn find(session: &Session, path: &NodePath) -> Result<Self, RunError> {
        let belongs = |run: &NodePath| run == path || run.is_descendant_of(path);
        let is_of_run = |event: &Event| {
            !path.is_root() && (belongs(event.path()) || completed_runs(event).any(|run| belongs(&run)))
        };
        let live = effective_events_and_rewinds(&session.events);
        let is_of_node = |event: &Event| !event.is_from_user() || partly_rewound(event).is_some();
        let last = live.iter().rev().find(|event| is_of_node(event) && is_of_run(event));
        let first = last
            .and_then(|last| live.iter().find(|event| invocation_of(event) == invocation_of(last) && is_of_run(event)));
        let found = first.and_then(|first| Some((first, place_of(session, first)?)));
        let Some((first, place)) = found else {
            return Err(RunError::UnknownRun { session: session.key().clone(), path: path.clone() });
        };
        Ok(Self {
            place,
            invocation: invocation_of(first).into(),
            completed: completed_runs(first).filter(|run| !belongs(run)).collect(),
        })
    }
}

/// Returns the invocation whose runs an event records.
fn invocation_of(event: &Event) -> &str {
    partly_rewound(event).map_or(event.invocation_id().as_str(), |(invocation, _)| invocation)
}

/// Returns the position of an event. For a rewind, returns the position of the first event that it undid. A return to
/// the time before the rewind itself would restore the undone events.
fn place_of(session: &Session, event: &Arc<Event>) -> Option<usize> {
    let mut events = session.events.iter();
    match partly_rewound(event) {
        Some((_, first)) => events.position(|event| *event.id() == first),
        None => events.position(|other| Arc::ptr_eq(other, event)),
    }
}
