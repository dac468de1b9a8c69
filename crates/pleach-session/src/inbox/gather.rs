//! Projecting several sessions from one stream of their events.

use std::sync::Arc;

use pleach_core::{Event, SessionKey};

use super::{Asked, asked_questions, is_rewind};

/// What a backend stores of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    /// The session.
    pub key: SessionKey,
    /// Its creation, in the backend's words.
    pub created: String,
    /// How many events were read.
    pub events: usize,
    /// The open questions; `None` when only the whole history determines them.
    pub open: Option<Vec<Asked>>,
}

/// Events that [concern questions](super::concerns_questions) while they are read: in order, one session after the other.
#[derive(Debug, Default)]
pub struct Gathering {
    done: Vec<Projected>,
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    slot: usize,
    key: SessionKey,
    created: String,
    events: Vec<Arc<Event>>,
}

impl Gathering {
    /// Takes in an event of the session at `slot`; `session` gives its key and creation.
    pub fn push(&mut self, slot: usize, event: Event, session: impl FnOnce() -> (SessionKey, String)) {
        if self.current.as_ref().is_some_and(|current| current.slot != slot) {
            self.end_session();
        }
        let current = self.current.get_or_insert_with(|| {
            let (key, created) = session();
            Current { slot, key, created, events: Vec::new() }
        });
        current.events.push(Arc::new(event));
    }

    /// The sessions that were read.
    pub fn finish(mut self) -> Vec<Projected> {
        self.end_session();
        self.done
    }

    fn end_session(&mut self) {
        let Some(Current { key, created, events, .. }) = self.current.take() else { return };
        let is_rewound = events.iter().any(|event| is_rewind(event));
        let open = (!is_rewound).then(|| asked_questions(&events));
        self.done.push(Projected { key, created, events: events.len(), open });
    }
}
