//! [`RepeatFilter`]: drops events that a resume would only repeat.
//!
//! A resumed invocation that only waits sends its checkpoints and questions again. They are held back, stored before the
//! first new event, and dropped if none follows.

use std::sync::Arc;

use pleach_context::engine::{EventQueue, Ticket};
use pleach_core::{Event, Question};
use pleach_session::open_questions;

/// Holds back repeated events. The default filter, for runs with a message or an answer, holds back nothing.
#[derive(Debug, Default)]
pub(crate) struct RepeatFilter {
    held: Vec<Arc<Event>>,
    /// The questions that were open before; `None` once a new event was stored.
    open: Option<Vec<Question>>,
    has_ended: bool,
}

impl RepeatFilter {
    /// Returns the filter for a resume without a new message. `own` are the invocation's events and `root` is the name of the
    /// root node. If the request is an answer that is already stored, an ended invocation records nothing; a plain resume
    /// repeats the end event, as google-adk does.
    pub(crate) fn resume(own: &[&Arc<Event>], root: &str, is_answer: bool) -> Self {
        let events: Vec<Arc<Event>> = own.iter().map(|event| Arc::clone(event)).collect();
        let is_end = |event: &&Arc<Event>| event.actions().end_of_agent() == Some(true) && event.author() == root;
        Self {
            held: Vec::new(),
            has_ended: is_answer && events.iter().any(|event| is_end(&event)),
            open: Some(open_questions(&events)),
        }
    }

    /// Holds back a repeated event and acknowledges it to its sender. Returns an event that must be stored.
    pub(crate) fn pass(
        &mut self,
        queue: &EventQueue,
        ticket: Ticket,
        event: Arc<Event>,
    ) -> Option<(Ticket, Arc<Event>)> {
        if self.open.as_ref().is_some_and(|open| is_repeat(&event, open)) {
            queue.acknowledge(ticket, Arc::clone(&event));
            self.held.push(event);
            return None;
        }
        Some((ticket, event))
    }

    /// Takes the held events, which must be stored before the next one. Later events are not held back.
    pub(crate) fn release(&mut self) -> Vec<Arc<Event>> {
        self.open = None;
        std::mem::take(&mut self.held)
    }

    /// Takes the held events to store at the end of a successful run: none if it waits or had ended before.
    pub(crate) fn end(&mut self, waits: bool) -> Vec<Arc<Event>> {
        let held = self.release();
        if waits || self.has_ended { Vec::new() } else { held }
    }
}

fn is_repeat(event: &Event, open: &[Question]) -> bool {
    let actions = event.actions();
    if !actions.state_delta().is_empty() || event.is_partial() || event.error_code().is_some() {
        return false;
    }
    let asked = event.questions();
    if !asked.is_empty() {
        return asked.iter().all(|question| open.iter().any(|known| is_same(known, question)));
    }
    event.content().is_none()
        && (actions.agent_state().is_some() || actions.end_of_agent() == Some(true) || is_echo(event))
}

/// Returns whether the event repeats the output of a run: such an event does not name the runs whose output it is.
fn is_echo(event: &Event) -> bool {
    event.output().is_some() && event.node_info().output_for().is_none()
}

fn is_same(known: &Question, asked: &Question) -> bool {
    known.id == asked.id
        && known.node_path == asked.node_path
        && known.kind == asked.kind
        && known.message == asked.message
        && known.payload == asked.payload
        && known.response_schema == asked.response_schema
        && known.assignee == asked.assignee
}
