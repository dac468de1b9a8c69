//! The data that backends store for the inbox: which events can open or close questions, and which event asked each open one.

use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::{Event, EventId, InvocationId, Question, REQUEST_INPUT};

use crate::{ABORTED, open_questions};

/// The version of the rules by which a projection is made from events.
///
/// It is part of the tables' names, so that two versions of pleach can use one database. Raise it when the layout of
/// the tables changes, or when [`open_questions`] or [`concerns_questions`] returns something else for a stored event.
pub const PROJECTION: u32 = 5;

/// An open question, with its event and its place in the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The number of questions that the session asked before this one, including closed ones.
    pub place: u32,
    /// The event that asks it.
    pub event_id: EventId,
    /// The question.
    pub question: Question,
}

/// Returns `true` if an event can change which questions of its session are open: it asks, answers, aborts or rewinds.
/// If none of these events is a rewind, [`open_questions`] needs no others.
pub fn concerns_questions(event: &Event) -> bool {
    // An agent's function responses answer no question, and there are many of them.
    event.author() == "user" && event.function_responses().next().is_some()
        || event.is_interrupt()
        || event.content().is_some() && event.function_calls().any(|call| call.name.as_deref() == Some(REQUEST_INPUT))
        || event.error_code() == Some(ABORTED)
        || is_rewind(event)
}

/// Returns `true` if an event undoes earlier events. Only the whole history shows which.
pub fn is_rewind(event: &Event) -> bool {
    event.actions().rewind_before_invocation_id().is_some()
}

/// Returns the open questions with their places in the order asked.
///
/// `events` are the session's events in order: all of them, or only those that [concern questions](concerns_questions)
/// if none of these is a [rewind](is_rewind). The result is the same.
pub fn asked_questions(events: &[Arc<Event>]) -> Vec<Asked> {
    let open = open_questions(events);
    let key = |question: &Question| (question.invocation_id.clone(), question.id.clone());
    let mut wanted: HashMap<(InvocationId, String), Asked> = open
        .into_iter()
        .map(|question| (key(&question), Asked { place: 0, event_id: EventId::default(), question }))
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut place = 0;
    for event in events {
        for question in event.questions() {
            if let Some(asked) = wanted.get_mut(&key(&question)).filter(|asked| asked.question == question) {
                (asked.place, asked.event_id) = (place, event.id().clone());
            }
            place += 1;
        }
    }
    let mut asked: Vec<Asked> = wanted.into_values().collect();
    asked.sort_unstable_by_key(|asked| asked.place);
    asked
}
