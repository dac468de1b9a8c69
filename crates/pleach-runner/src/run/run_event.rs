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
    /// Whether fragments of the event came before it.
    streamed: bool,
}

impl RunEvent {
    /// Returns the new text: the text of a fragment, or of a complete event without fragments before it. Printing it for
    /// every event of a run prints all replies of the agents once.
    #[must_use]
    pub fn fragment(&self) -> String {
        if self.streamed { String::new() } else { self.event.text() }
    }

    /// Sets whether fragments of the event came before it.
    pub(crate) fn after_fragments(mut self, streamed: bool) -> Self {
        self.streamed = streamed && !self.event.is_partial();
        self
    }

    pub(crate) fn new(event: Arc<Event>) -> Self {
        let request = match event.long_running_tool_ids() {
            Some(_) => event.questions().into_iter().next().map(Box::new),
            None => None,
        };
        Self { event, request, streamed: false }
    }
}

impl Deref for RunEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}
