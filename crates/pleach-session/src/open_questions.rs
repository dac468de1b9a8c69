//! Which questions of a session wait for an answer.

use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::{Event, FunctionResponse, InvocationId, Map, NodePath, Question};
use pleach_schema::{check_answer, unwrap_response};
use serde_json::Value;

use crate::effective_events;

/// The error code of the events that close an aborted invocation. ADK: the same
pub const ABORTED: &str = "INVOCATION_ABORTED";

/// Returns the questions of a session's events that wait for an answer, in the order asked.
///
/// Only events that count after rewinds are read. A question is identified by its invocation and its id. When several
/// runs of one invocation ask under the same id, the last of them is listed, because an answer reaches that one; the others
/// follow when it is answered. A question is closed by a user's answer that fits it, and by the end of an aborted
/// invocation; what a long-running tool itself returns does not close it.
// R901, R905, R907, R909, R128, R1130, R1141
#[must_use]
pub fn open_questions(events: &[Arc<Event>]) -> Vec<Question> {
    let mut desk = Desk::default();
    effective_events(events).into_iter().for_each(|event| desk.read(event));
    desk.into_open()
}

/// Checks a stored answer against the schema that its question stored, as every reader of a history does.
///
/// # Errors
/// A text that says what does not fit.
// R907
pub fn check_stored_answer(schema: Option<&Value>, response: &FunctionResponse) -> Result<Value, String> {
    let empty = Map::new();
    let answer = unwrap_response(response.response.as_ref().unwrap_or(&empty));
    match schema.filter(|schema| schema.is_object()) {
        Some(schema) => check_answer(schema, answer),
        None => Ok(answer),
    }
}

type QuestionKey = (InvocationId, String);

/// Questions while a history is read.
#[derive(Default)]
struct Desk {
    /// Every question asked, in order; the place of one that is closed is empty.
    asked: Vec<Option<Question>>,
    /// The places of the questions of an invocation with one id, the last asked one last; closed ones are removed.
    places: HashMap<QuestionKey, Vec<usize>>,
    /// The invocations that have asked under an id, the last one last.
    askers: HashMap<String, Vec<InvocationId>>,
}

impl Desk {
    fn read(&mut self, event: &Event) {
        if event.is_from_user() {
            return self.take_answers(event);
        }
        if event.error_code() == Some(ABORTED) {
            self.close_invocation(event.invocation_id());
        }
        event.questions().into_iter().for_each(|question| self.ask(question));
    }

    fn ask(&mut self, question: Question) {
        let key = (question.invocation_id.clone(), question.id.clone());
        let askers = self.askers.entry(question.id.clone()).or_default();
        askers.retain(|invocation| *invocation != question.invocation_id);
        askers.push(question.invocation_id.clone());
        let places = self.places.entry(key).or_default();
        // A run that asks again replaces its own question.
        if let Some(again) = places.iter().position(|place| is_asked_by(&self.asked[*place], &question.node_path)) {
            self.asked[places.remove(again)] = None;
        }
        places.push(self.asked.len());
        self.asked.push(Some(question));
    }

    /// Closes what an answer reaches: the last question with this key.
    fn close(&mut self, key: &QuestionKey) {
        if let Some(place) = self.places.get_mut(key).and_then(Vec::pop) {
            self.asked[place] = None;
        }
    }

    fn close_invocation(&mut self, invocation: &InvocationId) {
        for place in
            self.asked.iter_mut().filter(|asked| asked.as_ref().is_some_and(|q| q.invocation_id == *invocation))
        {
            *place = None;
        }
        self.places.retain(|(asker, _), _| asker != invocation);
    }

    fn take_answers(&mut self, event: &Event) {
        for response in event.function_responses() {
            let Some(id) = response.id.as_deref() else { continue };
            if let Some(key) = self.key_of(event.invocation_id(), id) {
                let place = self.places.get(&key).and_then(|places| places.last());
                let question = place.and_then(|place| self.asked[*place].as_ref());
                // An answer that another writer stored although it does not fit leaves the question open.
                let schema = question.and_then(|question| question.response_schema.as_ref());
                if check_stored_answer(schema, response).is_ok() {
                    self.close(&key);
                }
                continue;
            }
            // An answer to a call on a branch that is named after a question answers that question (R1003).
            for run_id in event.branch().into_iter().flat_map(|branch| branch.run_ids()) {
                if let Some(key) = self.key_of(event.invocation_id(), run_id) {
                    self.close(&key);
                }
            }
        }
    }

    /// The question with this id of the answer's own invocation, else of the last invocation that waits under it: classic
    /// agents answer in an invocation of their own.
    fn key_of(&self, invocation: &InvocationId, id: &str) -> Option<QuestionKey> {
        let askers = self.askers.get(id)?;
        let key = |asker: &InvocationId| (asker.clone(), id.to_owned());
        let waits = |asker: &&InvocationId| self.places.get(&key(asker)).is_some_and(|places| !places.is_empty());
        let own = askers.iter().find(|asker| *asker == invocation);
        own.or_else(|| askers.iter().rev().find(waits)).or(askers.last()).map(key)
    }

    fn into_open(mut self) -> Vec<Question> {
        let mut places: Vec<usize> = self.places.values().filter_map(|places| places.last().copied()).collect();
        places.sort_unstable();
        places.into_iter().filter_map(|place| self.asked[place].take()).collect()
    }
}

fn is_asked_by(question: &Option<Question>, path: &NodePath) -> bool {
    question.as_ref().is_some_and(|question| question.node_path == *path)
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, Part, REQUEST_INPUT, RequestInput};

    use super::*;

    /// Reads a log of words: `i?q@path` asks `q` in the invocation `i`, `i!q` answers it, `i#` aborts `i`.
    fn check(log: &str, open: &str) {
        let event = |word: &str| {
            let (invocation, rest) = word.split_at(1);
            let mut event = match rest.split_at(1) {
                ("?", asked) => {
                    let (id, path) = asked.split_once('@').unwrap_or((asked, "n@1"));
                    RequestInput::<Value>::ask(id, "?").into_event(id).with_node_path(path)
                }
                ("!", id) => {
                    let response = FunctionResponse::new(id, REQUEST_INPUT, Map::new());
                    Event::from_author("user").with_content(Content::new("user", [Part::function_response(response)]))
                }
                _ => Event::from_author("wf").with_error(ABORTED, "aborted"),
            };
            event.set_invocation_id(invocation);
            Arc::new(event)
        };
        let events: Vec<Arc<Event>> = log.split_whitespace().map(event).collect();
        let found: Vec<String> =
            open_questions(&events).iter().map(|q| format!("{}?{}@{}", q.invocation_id, q.id, q.node_path)).collect();
        assert_eq!(found.join(" "), open, "{log}");
    }

    /// Issue 10 A3
    #[test]
    fn questions_are_told_apart_by_invocation_and_id() {
        check("a?q b?q", "a?q@n@1 b?q@n@1");
        check("a?q b?q a!q", "b?q@n@1");
        check("a?q b?q b!q", "a?q@n@1");
        // An answer in an invocation of its own reaches the newest question.
        check("a?q b?q c!q", "a?q@n@1");
        check("a?q b?q a# b?p", "b?q@n@1 b?p@n@1");
        // One that does not wait any more takes no answer from another one.
        check("b?q a?q a# c!q", "");
        check("b?q a?q a!q c!q", "");
        check("b?q a?q a!q a!q", "b?q@n@1");
    }

    #[test]
    fn the_last_asker_of_an_id_is_answered_first() {
        check("a?q@x@1 a?q@y@1", "a?q@y@1");
        check("a?q@x@1 a?q@y@1 a!q", "a?q@x@1");
        check("a?q@x@1 a?q@y@1 a!q a!q", "");
        // Asked again by the same run.
        check("a?q@x@1 a!q a?q@x@1 a?p@x@1", "a?q@x@1 a?p@x@1");
        check("a?q@x@1 a?p@x@1 a?q@x@1", "a?p@x@1 a?q@x@1");
    }
}
