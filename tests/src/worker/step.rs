//! Makes the events of workers. An event depends only on its id and its position.

use std::fmt;

use pleach::{Content, CreateSession, Event, FunctionResponse, Map, Part, RequestInput, SessionKey, StateOp};
use serde_json::Value;

/// The creation time of every session, in seconds since the epoch.
const CREATED: f64 = 1_760_000_000.0;

/// The key that counts the events of all sessions that [count](Step::counts).
pub const COUNT: &str = "app:count";

/// One event: the worker that appends it, the session, and its number among the worker's events of the session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The name of the worker.
    pub writer: String,
    /// The id of the session.
    pub session: String,
    /// The number of the event among the worker's events of this session, from zero.
    pub number: usize,
}

impl Step {
    /// The step of the event with this id.
    pub fn of_id(id: &str) -> Option<Self> {
        let mut parts = id.split('/');
        let (writer, session) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let number = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { writer, session, number })
    }

    /// The event of the step if `place` events come before it in its session.
    ///
    /// The event's time is a second after the last event of the session. So two workers that have loaded the same
    /// session append events with the same time, which is the hardest case for a fence that compares times.
    pub fn event(&self, keys: usize, place: usize) -> Event {
        let id = self.to_string();
        let key = format!("{}.{}", self.session, self.number % keys);
        let mut event = self
            .body()
            .with_state(format!("app:{key}"), id.as_str())
            .with_state(format!("user:{key}"), id.as_str())
            .with_state(key, id.as_str());
        if self.counts() {
            event = event.with_state_op(COUNT, StateOp::Add(1.into()));
            event = event.with_state_op(own_count(&self.session), StateOp::Add(1.into()));
        }
        event.set_id(id);
        event.set_author(if self.answers() { "user" } else { self.writer.as_str() });
        event.set_invocation_id(self.writer.as_str());
        event.set_timestamp(CREATED + 1.0 + place as f64);
        event
    }
}

impl Step {
    /// The body of the event. In every four events, the second asks and the fourth answers.
    fn body(&self) -> Event {
        let question = |number| Self { number, ..self.clone() }.to_string();
        if self.number % 4 == 1 {
            return RequestInput::<Value>::ask(question(self.number), "Go on?").into_event(question(self.number));
        }
        if self.answers() {
            let answer = Map::from_iter([("result".to_owned(), Value::from("yes"))]);
            let answer = FunctionResponse::new(question(self.number - 2), "adk_request_input", answer);
            let content = Content::new("user", [Part::function_response(answer)]);
            return Event::from_author("user").with_content(content);
        }
        Event::from_author(self.writer.as_str()).with_message(format!("event {self}"))
    }

    fn answers(&self) -> bool {
        self.number % 4 == 3
    }

    /// Returns true if the event not only sets keys, but also adds one to [`COUNT`] and to the count of its session.
    /// Every second event does.
    pub fn counts(&self) -> bool {
        self.number.is_multiple_of(2)
    }
}

/// The key that counts the events of one session.
pub fn own_count(session: &str) -> String {
    format!("{session}.count")
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.writer, self.session, self.number)
    }
}

/// The number of events of a session that was last updated at this time.
pub fn place(last_update_time: f64) -> usize {
    (last_update_time - CREATED) as usize
}

/// The request to create a session with a key of its own in every scope.
pub fn new_session(key: &SessionKey) -> CreateSession {
    CreateSession::new(key.app_name.clone(), key.user_id.clone())
        .with_session_id(key.session_id.clone())
        .with_create_time(CREATED)
        .with_state(first_state(key.session_id.as_str()))
}

fn first_state(session: &str) -> Map {
    let entry = |scope: &str| (format!("{scope}{session}.new"), session.into());
    [entry("app:"), entry("user:"), entry("")].into_iter().collect()
}

/// The state in all three scopes that a session and its events have written.
pub fn replay<'e>(session: &str, events: impl IntoIterator<Item = &'e Event>) -> Map {
    let mut state = first_state(session);
    for event in events {
        state.extend(event.actions().state_delta().clone());
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_identifies_its_step() {
        let step = Step { writer: "w1".into(), session: "s2".into(), number: 3 };
        assert_eq!(Step::of_id(&step.to_string()), Some(step.clone()));
        assert_eq!([Step::of_id("w1/s2"), Step::of_id("w1/s2/x"), Step::of_id("w1/s2/3/4")], [None, None, None]);
        let event = step.event(2, 7);
        assert_eq!(place(event.timestamp()), 8);
        assert_eq!(replay("s2", [&event])["app:s2.1"], "w1/s2/3");
    }
}
