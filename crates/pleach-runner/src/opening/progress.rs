//! [`Progress`]: what a session has recorded of an invocation.
// R1103, R1130

use std::sync::Arc;

use pleach_context::{History, Node};
use pleach_core::Event;
use pleach_session::ends_aborted;

/// What a session has recorded of an invocation.
pub(crate) struct Progress {
    /// The message that started the invocation.
    pub(crate) first_message: Option<Arc<Event>>,
    /// The message that began the last turn, unless the turn began with answers.
    pub(crate) turn_message: Option<Arc<Event>>,
    /// Whether the invocation was aborted and nothing of it has run since.
    pub(crate) is_aborted: bool,
    /// The history of the invocation; `None` if the session has no event of it.
    pub(crate) history: Option<Box<History>>,
}

impl Progress {
    /// Reads the progress from the effective events of an invocation. If its history has been read before, pass it as
    /// `history`.
    pub(crate) fn of(own: &[&Arc<Event>], root: &Arc<dyn Node>, history: Option<Box<History>>) -> Self {
        Self {
            first_message: first_message(own),
            turn_message: message_of_turn(own),
            is_aborted: is_aborted(own),
            history: history.or_else(|| (!own.is_empty()).then(|| Box::new(History::of_root(own, root)))),
        }
    }

    /// Returns `true` if the session has any event of the invocation.
    pub(crate) fn resumes(&self) -> bool {
        self.history.is_some()
    }
}

/// Returns `true` if an invocation was aborted and nothing of it has run since.
pub(crate) fn is_aborted(own: &[&Arc<Event>]) -> bool {
    own.iter().rev().find(|event| !event.is_from_user()).is_some_and(|event| ends_aborted(event))
}

/// Returns the message that started an invocation: its first user event with content and without answers.
fn first_message(own: &[&Arc<Event>]) -> Option<Arc<Event>> {
    let mut users = own.iter().filter(|event| event.is_from_user());
    let message = users.find(|event| event.content().is_some() && event.function_responses().next().is_none());
    message.map(|event| Arc::clone(event))
}

/// Returns the message that began the last turn of an invocation, unless the turn began with answers.
fn message_of_turn(own: &[&Arc<Event>]) -> Option<Arc<Event>> {
    let mut users = own.iter().rev().filter(|event| event.is_from_user() && event.path().is_root());
    let last = users.find(|event| event.content().is_some())?;
    last.function_responses().next().is_none().then(|| Arc::clone(last))
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, FunctionResponse, Map, Part};
    use pleach_session::ABORTED;

    use super::*;

    /// `m` is a user's message, `s` a user's event with state only, `a` an answer, `n` a node's event, `!` an abort event.
    fn events(log: &str) -> Vec<Arc<Event>> {
        let event = |letter: char| match letter {
            'm' => Event::from_author("user").with_message("hello"),
            's' => Event::from_author("user").with_state("k", 1),
            'a' => {
                let part = Part::function_response(FunctionResponse::new("q", "adk_request_input", Map::new()));
                Event::from_author("user").with_content(Content::new("user", [part]))
            }
            '!' => Event::from_author("node").with_error(ABORTED, "aborted"),
            _ => Event::from_author("node"),
        };
        log.chars().map(|letter| Arc::new(event(letter))).collect()
    }

    #[test]
    fn r1103_the_first_message_that_is_not_an_answer_started_the_invocation() {
        for (log, place) in [("", None), ("m", Some(0)), ("nsam", Some(3)), ("mnm", Some(0)), ("sa", None)] {
            let events = events(log);
            let found = first_message(&events.iter().collect::<Vec<_>>());
            let expected = place.map(|place: usize| &events[place]);
            assert!(found.iter().zip(expected).all(|(found, event)| Arc::ptr_eq(found, event)), "{log}");
            assert_eq!(found.is_some(), expected.is_some(), "{log}");
        }
    }

    #[test]
    fn a_turn_begins_with_its_message_or_with_answers() {
        for (log, expected) in
            [("", None), ("mn", Some(0)), ("mnm", Some(2)), ("mnmsn", Some(2)), ("mna", None), ("mnmna", None)]
        {
            let events = events(log);
            let found = message_of_turn(&events.iter().collect::<Vec<_>>());
            let place = found.and_then(|found| events.iter().position(|event| Arc::ptr_eq(event, &found)));
            assert_eq!(place, expected, "{log}");
        }
    }

    #[test]
    fn r1130_an_invocation_is_aborted_until_something_of_it_runs_again() {
        for (log, aborted) in
            [("", false), ("mn", false), ("mn!", true), ("mn!a", true), ("mn!n", false), ("mn!!", true)]
        {
            let events = events(log);
            assert_eq!(is_aborted(&events.iter().collect::<Vec<_>>()), aborted, "{log}");
        }
    }
}
