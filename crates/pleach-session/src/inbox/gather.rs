//! Finding the open questions of several sessions in one stream of events.

use std::sync::Arc;

use pleach_core::{Event, SessionKey};

use super::{Asked, asked_questions, is_rewind};
use crate::{SessionResult, report_fault};

/// The open questions of a session, for a backend to store.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    /// The session.
    pub key: SessionKey,
    /// The creation time of the session, as the backend writes it.
    pub created: String,
    /// The number of events that were read.
    pub events: usize,
    /// The open questions.
    pub open: Open,
}

/// The open questions of a session, or the reason why the events about questions do not determine them.
#[derive(Clone, Debug, PartialEq)]
pub enum Open {
    /// These questions are open.
    Questions(Vec<Asked>),
    /// Only the whole history shows which questions are open.
    InHistory,
    /// An event cannot be read, so the open questions are unknown: no question of the session is listed.
    Unreadable,
}

impl Projected {
    /// Returns the questions to list.
    #[must_use]
    pub fn questions(&self) -> &[Asked] {
        match &self.open {
            Open::Questions(asked) => asked,
            Open::InHistory | Open::Unreadable => &[],
        }
    }
}

/// Collects events that [concern questions](super::concerns_questions) as they are read: in order, one session after
/// the other.
#[derive(Debug, Default)]
pub struct Gathering {
    done: Vec<Projected>,
    current: Option<CurrentSession>,
}

#[derive(Debug)]
struct CurrentSession {
    slot: usize,
    key: SessionKey,
    created: String,
    /// The number of events that were read.
    count: usize,
    /// `None` after an event that cannot be read.
    events: Option<Vec<Arc<Event>>>,
}

impl Gathering {
    /// Adds an event of the session with the number `slot`; `session` returns the session's key and creation time.
    /// An event that cannot be read is reported, and the questions of its session are left out.
    pub fn push(&mut self, slot: usize, event: SessionResult<Event>, session: impl FnOnce() -> (SessionKey, String)) {
        if self.current.as_ref().is_some_and(|current| current.slot != slot) {
            self.end_session();
        }
        let current = self.current.get_or_insert_with(|| {
            let (key, created) = session();
            CurrentSession { slot, key, created, count: 0, events: Some(Vec::new()) }
        });
        current.count += 1;
        match event {
            Ok(event) => {
                if let Some(events) = &mut current.events {
                    events.push(Arc::new(event));
                }
            }
            Err(error) => {
                report_fault(&current.key, &error);
                current.events = None;
            }
        }
    }

    /// Returns the sessions that were read.
    pub fn finish(mut self) -> Vec<Projected> {
        self.end_session();
        self.done
    }

    fn end_session(&mut self) {
        let Some(CurrentSession { key, created, count, events, .. }) = self.current.take() else { return };
        let open = match events {
            None => Open::Unreadable,
            Some(events) if events.iter().any(|event| is_rewind(event)) => Open::InHistory,
            Some(events) => Open::Questions(asked_questions(&events)),
        };
        self.done.push(Projected { key, created, events: count, open });
    }
}
