//! [`RepeatFilter`]: drops events that a resume would only repeat.
//!
//! A resumed invocation that only waits sends its checkpoints and questions again. They are held back, stored before the
//! first new event, and dropped if none follows.

use std::collections::HashMap;
use std::sync::Arc;

use pleach_context::engine::{EventQueue, Ticket};
use pleach_core::{Event, Question, Scope};
use pleach_session::open_questions;

/// Open questions by id; several nodes may have asked under one id.
type OpenById = HashMap<String, Vec<Question>>;

/// Holds back repeated events. The default filter, for runs with a message or an answer, holds back nothing.
#[derive(Debug, Default)]
pub(crate) struct RepeatFilter {
    held: Vec<Arc<Event>>,
    /// The questions that were open before the resume; `None` once a new event has passed the filter.
    open: Option<OpenById>,
    has_ended: bool,
}

impl RepeatFilter {
    /// Returns the filter for a resume without a new message. `own` are the invocation's events and `root` is the name of the
    /// root node. If the request is an answer that is already stored, nothing is stored for an invocation that has ended; a plain resume
    /// stores the end event again, as google-adk does.
    pub(crate) fn resume(own: &[&Arc<Event>], root: &str, is_answer: bool) -> Self {
        let events: Vec<Arc<Event>> = own.iter().map(|event| Arc::clone(event)).collect();
        let is_end = |event: &&Arc<Event>| event.actions().end_of_agent() == Some(true) && event.author() == root;
        let mut open = OpenById::new();
        for question in open_questions(&events) {
            open.entry(question.id.clone()).or_default().push(question);
        }
        Self { held: Vec::new(), has_ended: is_answer && events.iter().any(|event| is_end(&event)), open: Some(open) }
    }

    /// Holds back a repeated event and acknowledges it to its sender. Any other event is returned and must be stored.
    pub(crate) fn pass(
        &mut self,
        queue: &EventQueue,
        ticket: Ticket,
        event: Arc<Event>,
    ) -> Option<(Ticket, Arc<Event>)> {
        if self.open.as_ref().is_some_and(|open| is_repeat(&event, open)) {
            queue.hold(ticket, Arc::clone(&event));
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

    /// Takes the held events to store at the end of a successful run: none if the run waits or the invocation had ended before.
    pub(crate) fn end(&mut self, waits: bool) -> Vec<Arc<Event>> {
        let held = self.release();
        if waits || self.has_ended { Vec::new() } else { held }
    }
}

fn is_repeat(event: &Event, open: &OpenById) -> bool {
    let actions = event.actions();
    // Temporary keys, such as credentials, are not stored, and each run writes them again.
    let writes = actions.state_delta().keys().any(|key| Scope::split(key).0 != Scope::Temp);
    if writes || event.is_partial() || event.error_code().is_some() {
        return false;
    }
    let asked = event.questions();
    if !asked.is_empty() {
        let is_open =
            |asked: &Question| open.get(&asked.id).is_some_and(|known| known.iter().any(|known| is_same(known, asked)));
        return asked.iter().all(is_open);
    }
    event.content().is_none()
        && (actions.agent_state().is_some() || actions.end_of_agent() == Some(true) || is_echo(event))
}

/// Returns `true` if the event repeats the output of a run: such an event does not name the runs that the output belongs to.
fn is_echo(event: &Event) -> bool {
    event.output().is_some() && event.node_info().output_for().is_none()
}

fn is_same(known: &Question, asked: &Question) -> bool {
    known.node_path == asked.node_path
        && known.kind == asked.kind
        && known.message == asked.message
        && known.payload == asked.payload
        && known.response_schema == asked.response_schema
        && known.assignee == asked.assignee
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, Map, RequestInput};
    use serde_json::{Value, json};

    use super::*;

    fn question(id: &str, message: &str) -> Arc<Event> {
        let mut event = RequestInput::<Value>::ask(id, message).into_event(id).with_node_path("wf@1/a@1");
        event.set_invocation_id("i");
        Arc::new(event)
    }

    fn with(change: impl FnOnce(&mut Event)) -> Arc<Event> {
        let mut event = Event::from_author("wf");
        change(&mut event);
        Arc::new(event)
    }

    fn end() -> Arc<Event> {
        with(|event| event.actions_mut().set_end_of_agent(Some(true)))
    }

    /// Sends an event through the filter; returns `true` if it is held back.
    fn is_held(filter: &mut RepeatFilter, event: Arc<Event>) -> bool {
        let queue = EventQueue::default();
        queue.push(event, std::task::Waker::noop().clone());
        let (ticket, event) = queue.take().unwrap();
        filter.pass(&queue, ticket, event).is_none()
    }

    #[test]
    fn a_resume_holds_back_what_it_only_repeats() {
        let checkpoint = |event: &mut Event| event.actions_mut().set_agent_state(Some(Map::new()));
        for (rule, event, held) in [
            ("the same question", question("q", "why?"), true),
            ("another question", question("p", "why?"), false),
            ("the question with another text", question("q", "how?"), false),
            ("a checkpoint", with(checkpoint), true),
            (
                "a checkpoint with state",
                with(|event| {
                    checkpoint(event);
                    event.actions_mut().set_state("k", json!(1));
                }),
                false,
            ),
            ("the end of the workflow", end(), true),
            ("an echo", with(|event| event.set_output(Some(json!(1)))), true),
            ("a message", with(|event| event.set_content(Some(Content::model("hi")))), false),
            ("an error", with(|event| event.set_error_code(Some("ValueError".to_owned()))), false),
            ("an event without anything", with(|_| {}), false),
        ] {
            let mut filter = RepeatFilter::resume(&[&question("q", "why?")], "wf", false);
            assert_eq!(is_held(&mut filter, event), held, "{rule}");
        }
    }

    #[test]
    fn a_run_with_a_message_holds_nothing_back() {
        assert!(!is_held(&mut RepeatFilter::default(), end()));
    }

    #[test]
    fn held_events_are_stored_before_a_new_one_and_at_the_end_of_a_run_that_does_not_wait() {
        let held = |is_answer: bool, recorded: &[&Arc<Event>]| {
            let mut filter = RepeatFilter::resume(recorded, "wf", is_answer);
            assert!(is_held(&mut filter, end()));
            filter
        };
        assert_eq!(held(false, &[]).release().len(), 1);
        assert_eq!(held(false, &[]).end(false).len(), 1);
        assert_eq!(held(false, &[]).end(true).len(), 0, "the run waits");
        assert_eq!(held(true, &[&end()]).end(false).len(), 0, "the end and the answer are already recorded");
        assert_eq!(held(false, &[&end()]).end(false).len(), 1, "a plain resume repeats its end, as google-adk does");
    }
}
