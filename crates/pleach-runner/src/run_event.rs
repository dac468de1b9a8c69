//! [`RunEvent`]: one event of a run.

use std::ops::Deref;
use std::sync::Arc;

use pleach_core::{Event, Question};

/// One event of a run, with the question that it asks, if any. Dereferences to the [`Event`].
#[derive(Clone, Debug)]
pub struct RunEvent {
    /// The event, shared with the session.
    pub event: Arc<Event>,
    /// The question that the event asks, if any.
    pub request: Option<Box<Question>>,
}

impl RunEvent {
    pub(crate) fn new(event: Arc<Event>) -> Self {
        let request = match event.long_running_tool_ids() {
            Some(_) => event.questions().into_iter().next().map(Box::new),
            None => None,
        };
        Self { event, request }
    }
}

impl Deref for RunEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}
