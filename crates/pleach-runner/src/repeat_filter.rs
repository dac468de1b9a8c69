//! What a resume that finds nothing to do would record once more: it is held back, and dropped when nothing follows.
//!
//! A resumed invocation that only waits repeats its checkpoints and questions. They say nothing new, so they are stored only
//! before an event that does.

use std::sync::Arc;

use pleach_context::engine::{EventQueue, Ticket};
use pleach_core::{Event, Question};
use pleach_session::open_questions;

/// The events that are held back; none in a run that brings a message or an answer.
#[derive(Debug, Default)]
pub(crate) struct RepeatFilter {
    held: Vec<Arc<Event>>,
    /// The questions that are open already; `None` once something new was stored.
    open: Option<Vec<Question>>,
    has_ended: bool,
}

impl RepeatFilter {
    /// For a resume without a message of an invocation with these events, whose root has this name. An answer that is stored
    /// already records nothing of an invocation that has ended; a plain resume repeats its end as google-adk does.
    pub(crate) fn resume(own: &[&Arc<Event>], root: &str, is_answer: bool) -> Self {
        let events: Vec<Arc<Event>> = own.iter().map(|event| Arc::clone(event)).collect();
        let is_end = |event: &&Arc<Event>| event.actions().end_of_agent() == Some(true) && event.author() == root;
        Self {
            held: Vec::new(),
            has_ended: is_answer && events.iter().any(|event| is_end(&event)),
            open: Some(open_questions(&events)),
        }
    }

    /// Holds an event back that says nothing new: its sender continues. Gives the event back if it has to be stored.
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

    /// The events that were held back and have to be stored before what follows, which is not held back any more.
    pub(crate) fn release(&mut self) -> Vec<Arc<Event>> {
        self.open = None;
        std::mem::take(&mut self.held)
    }

    /// What is left to be stored at the end of a run that succeeded: nothing when it waits, or had ended before.
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

/// Whether the event repeats the output of a run: it does not say whose output it is.
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
