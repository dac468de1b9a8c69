//! Which questions of a session are waiting for an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::{Event, FunctionResponse, InvocationId, Map, NodePath, Question};
use pleach_schema::{check_answer, unwrap_response};
use serde_json::Value;

use crate::effective_events;

/// The error code of the events that close an aborted invocation. ADK uses the same code.
pub const ABORTED: &str = "INVOCATION_ABORTED";

/// Returns the questions among a session's events that wait for an answer, in the order asked.
///
/// Only events that are effective after rewinds are read. A question is identified by its invocation and its id. If
/// several runs of one invocation ask under the same id, only the last question is listed, because an answer reaches
/// that one. The others are listed once it is answered.
///
/// Three things close a question: a user's answer that fits it, an answer that fits one of its alternatives
/// ([`Question::select`]), and the abort of its invocation. The result of a long-running tool does not close it.
// R901, R905, R907, R909, R128, R1130, R1141
#[must_use]
pub fn open_questions(events: &[Arc<Event>]) -> Vec<Question> {
    let mut tracker = QuestionTracker::default();
    effective_events(events).into_iter().for_each(|event| tracker.read(event));
    tracker.into_open()
}

/// Returns `true` if an event closes an aborted invocation. The error event of a node that failed with the same code
/// does not.
// R128, R1130
#[must_use]
pub fn ends_aborted(event: &Event) -> bool {
    event.error_code() == Some(ABORTED) && event.path().is_root()
}

/// Checks a stored answer against the stored schema of its question, as every reader of a history does.
///
/// # Errors
/// Returns a description of what does not fit.
// R907
pub fn check_stored_answer(schema: Option<&Value>, response: &FunctionResponse) -> Result<Value, String> {
    let empty = Map::new();
    let answer = unwrap_response(response.response.as_ref().unwrap_or(&empty));
    match schema.filter(|schema| schema.is_object()) {
        Some(schema) => check_answer(schema, answer),
        None => Ok(answer),
    }
}

/// The questions asked so far while a history is read. Each event costs the same, however many questions came before.
#[derive(Default)]
struct QuestionTracker {
    /// Every question asked, in order. A closed question leaves an empty place.
    asked: Vec<Option<Question>>,
    /// The questions of each invocation, by id. An entry stays after its questions are closed.
    invocations: HashMap<InvocationId, HashMap<String, QuestionsOfId>>,
    /// The invocations with open questions, by question id and then by the place of the last question.
    waiting: HashMap<String, BTreeMap<usize, InvocationId>>,
    /// The places of the questions of each select.
    selects: HashMap<(InvocationId, NodePath, String), Vec<usize>>,
}

/// The questions of one invocation with one id.
#[derive(Default)]
struct QuestionsOfId {
    /// The places of the open questions.
    open: BTreeSet<usize>,
    /// The place of each run's open question.
    by_run: HashMap<NodePath, usize>,
    /// The place of the last question asked, under which the invocation waits.
    last: Option<usize>,
}

impl QuestionTracker {
    fn read(&mut self, event: &Event) {
        if event.is_from_user() {
            return self.take_answers(event);
        }
        if ends_aborted(event) {
            self.close_invocation(event.invocation_id());
        }
        event.questions().into_iter().for_each(|question| self.ask(question));
    }

    fn ask(&mut self, question: Question) {
        let place = self.asked.len();
        let waiting = self.waiting.entry(question.id.clone()).or_default();
        let ids = self.invocations.entry(question.invocation_id.clone()).or_default();
        let asked = ids.entry(question.id.clone()).or_default();
        // A run that asks again replaces its own question.
        if let Some(again) = asked.by_run.insert(question.node_path.clone(), place) {
            asked.open.remove(&again);
            self.asked[again] = None;
        }
        asked.open.insert(place);
        if let Some(last) = asked.last.replace(place) {
            waiting.remove(&last);
        }
        waiting.insert(place, question.invocation_id.clone());
        if let Some(select) = select_key(&question) {
            self.selects.entry(select).or_default().push(place);
        }
        self.asked.push(Some(question));
    }

    fn close(&mut self, place: usize) {
        let Some(question) = self.asked[place].take() else { return };
        let ids = self.invocations.get_mut(&question.invocation_id);
        let Some(asked) = ids.and_then(|ids| ids.get_mut(&question.id)) else { return };
        asked.open.remove(&place);
        asked.by_run.remove(&question.node_path);
        if asked.open.is_empty()
            && let (Some(waiting), Some(last)) = (self.waiting.get_mut(&question.id), asked.last)
        {
            waiting.remove(&last);
        }
    }

    /// Closes an answered question and its alternatives.
    fn close_answered(&mut self, place: usize) {
        let select = self.asked[place].as_ref().and_then(select_key);
        self.close(place);
        let others = select.and_then(|select| self.selects.remove(&select)).unwrap_or_default();
        others.into_iter().for_each(|place| self.close(place));
    }

    fn close_invocation(&mut self, invocation: &InvocationId) {
        let ids = self.invocations.get(invocation).into_iter().flat_map(HashMap::values);
        let open: Vec<usize> = ids.flat_map(|asked| &asked.open).copied().collect();
        open.into_iter().for_each(|place| self.close(place));
    }

    fn take_answers(&mut self, event: &Event) {
        for response in event.function_responses() {
            let Some(id) = response.id.as_deref() else { continue };
            let answered = self.answered_place(event.invocation_id(), id);
            if let Some(question) = answered.and_then(|place| self.asked[place].as_ref()) {
                // Another writer may have stored an answer that does not fit. It leaves the question open.
                if check_stored_answer(question.response_schema.as_ref(), response).is_ok() {
                    answered.into_iter().for_each(|place| self.close_answered(place));
                }
            } else if !self.waiting.contains_key(id) {
                // If a branch is named after a question, an answer to a call on that branch answers the question
                // (R1003).
                for run_id in event.branch().into_iter().flat_map(|branch| branch.run_ids()) {
                    let place = self.answered_place(event.invocation_id(), run_id);
                    place.into_iter().for_each(|place| self.close_answered(place));
                }
            }
        }
    }

    /// Returns the place of the question that an answer to `id` closes. If the answer's own invocation has asked under
    /// the id, it is the last open question of that invocation. Otherwise it is the question of the last invocation
    /// that waits under the id, because classic agents answer in an invocation of their own.
    fn answered_place(&self, invocation: &InvocationId, id: &str) -> Option<usize> {
        let of = |asker: &InvocationId| self.invocations.get(asker)?.get(id);
        let waiting = || of(self.waiting.get(id)?.last_key_value()?.1);
        of(invocation).or_else(waiting)?.open.last().copied()
    }

    fn into_open(mut self) -> Vec<Question> {
        let asked = self.invocations.values().flat_map(HashMap::values);
        let mut places: Vec<usize> = asked.filter_map(|asked| asked.open.last().copied()).collect();
        places.sort_unstable();
        places.into_iter().filter_map(|place| self.asked[place].take()).collect()
    }
}

/// The properties that all questions of a select share.
fn select_key(question: &Question) -> Option<(InvocationId, NodePath, String)> {
    let select = question.select.clone()?;
    Some((question.invocation_id.clone(), question.node_path.clone(), select))
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

    #[test]
    fn questions_are_told_apart_by_invocation_and_id() {
        check("a?q b?q", "a?q@n@1 b?q@n@1");
        check("a?q b?q a!q", "b?q@n@1");
        check("a?q b?q b!q", "a?q@n@1");
        // An answer in an invocation of its own reaches the newest question.
        check("a?q b?q c!q", "a?q@n@1");
        check("a?q b?q a# b?p", "b?q@n@1 b?p@n@1");
        // An invocation that no longer waits takes no answer from another invocation.
        check("b?q a?q a# c!q", "");
        check("b?q a?q a!q c!q", "");
        check("b?q a?q a!q a!q", "b?q@n@1");
    }

    #[test]
    fn the_last_asker_of_an_id_is_answered_first() {
        check("a?q@x@1 a?q@y@1", "a?q@y@1");
        check("a?q@x@1 a?q@y@1 a!q", "a?q@x@1");
        check("a?q@x@1 a?q@y@1 a!q a!q", "");
        // The same run asks again.
        check("a?q@x@1 a!q a?q@x@1 a?p@x@1", "a?q@x@1 a?p@x@1");
        check("a?q@x@1 a?p@x@1 a?q@x@1", "a?p@x@1 a?q@x@1");
    }
}
