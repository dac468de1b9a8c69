//! [`OpenIndex`]: the open questions of one session, found without reading its history again.

use std::sync::Arc;

use pleach_core::Event;
use pleach_session::{Asked, asked_questions, concerns_questions, is_rewind};

/// The events of a session that concern questions, and the open questions of the last query.
#[derive(Debug, Default)]
pub(crate) struct OpenIndex {
    events: Vec<Arc<Event>>,
    /// Whether a rewind was stored. The events that a rewind undoes depend on the whole history.
    is_rewound: bool,
    /// The open questions of the first `seen` events.
    open: Vec<Asked>,
    seen: usize,
}

impl OpenIndex {
    /// Creates the index of a session with these events.
    pub(crate) fn of(events: &[Arc<Event>]) -> Self {
        let mut index = Self::default();
        events.iter().for_each(|event| index.add(event));
        index
    }

    /// Adds a stored event.
    pub(crate) fn add(&mut self, event: &Arc<Event>) {
        if concerns_questions(event) {
            self.is_rewound |= is_rewind(event);
            self.events.push(Arc::clone(event));
        }
    }

    /// Returns the open questions of the session whose events are `all`.
    pub(crate) fn open(&mut self, all: &[Arc<Event>]) -> &[Asked] {
        if self.seen != self.events.len() {
            self.open = asked_questions(if self.is_rewound { all } else { &self.events });
            self.seen = self.events.len();
        }
        &self.open
    }
}
