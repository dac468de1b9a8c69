//! The parts of an event that unfinished runs of its log still read.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use pleach_core::{
    Event, FunctionCall, FunctionResponse, InvocationId, Map, Question, QuestionKind, REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL, REQUEST_INPUT,
};
use serde_json::Value;

use crate::open_questions::check_stored_answer;
use crate::{RedactionFault, effective_events, ends_aborted, open_questions};

/// Checks that a redaction of the event at `place` changes neither which questions are open nor which answers apply,
/// including permissions. Calls and code that are still to be executed must stay.
///
/// # Errors
/// `ChangesQuestions`, `StillRead`.
pub(super) fn check(events: &[Arc<Event>], place: usize, redacted: &Event) -> Result<(), RedactionFault> {
    let stored = &events[place];
    let mut after = events.to_vec();
    after[place] = Arc::new(redacted.clone());
    let questions = Questions::of(events);
    let keeps_answers = || stored.function_responses().map(|response| questions.effect_of(response));
    if asked(events) != asked(&after)
        || !keeps_answers().eq(redacted.function_responses().map(|response| questions.effect_of(response)))
    {
        return Err(RedactionFault::ChangesQuestions);
    }
    let pending = PendingCalls::of(events);
    let is_cut = has_pending_code(events, place);
    if pending.pending_args(stored) != pending.pending_args(redacted) || is_cut && code(stored) != code(redacted) {
        return Err(RedactionFault::StillRead);
    }
    Ok(())
}

/// Returns the open questions without the values that a redaction may remove from them.
fn asked(events: &[Arc<Event>]) -> Vec<Question> {
    let mut questions = open_questions(events);
    for question in &mut questions {
        question.message.clear();
        question.payload = None;
    }
    questions
}

/// The questions of a log, whether effective after rewinds or not, because a rewind can be undone.
struct Questions {
    /// The schemas of the answers to each id.
    schemas: HashMap<String, Vec<Option<Value>>>,
    /// The ids of requests for permission.
    permissions: HashSet<String>,
}

/// The parts of an answer that affect a run: whether it fits each question asked under its id, and the permission it
/// grants.
#[derive(PartialEq)]
struct AnswerEffect {
    fits: Vec<bool>,
    permits: Option<Map>,
}

impl Questions {
    fn of(events: &[Arc<Event>]) -> Self {
        let mut all = Self { schemas: HashMap::default(), permissions: HashSet::default() };
        for question in events.iter().flat_map(|event| event.questions()) {
            if question.kind == QuestionKind::Confirmation {
                all.permissions.insert(question.id.clone());
            }
            all.schemas.entry(question.id).or_default().push(question.response_schema);
        }
        all
    }

    /// Returns the effect of an answer. Where an answer does not fit, it is ignored, and an earlier answer applies.
    fn effect_of(&self, response: &FunctionResponse) -> AnswerEffect {
        let id = response.id.as_deref().unwrap_or_default();
        let schemas = self.schemas.get(id).into_iter().flatten();
        let fits = schemas.map(|schema| check_stored_answer(schema.as_ref(), response).is_ok()).collect();
        let decides = response.response.clone().filter(|_| self.permissions.contains(id));
        let permits = decides.map(|mut response| {
            // These fields are only shown.
            response.retain(|field, _| !matches!(field.as_str(), "hint" | "payload"));
            response
        });
        AnswerEffect { fits, permits }
    }
}

/// The calls whose tools are still to be called, by call id, with their invocations.
struct PendingCalls(HashMap<String, Vec<InvocationId>>);

impl PendingCalls {
    fn of(events: &[Arc<Event>]) -> Self {
        let mut pending = Self(HashMap::default());
        for event in effective_events(events) {
            if ends_aborted(event) {
                pending.0.values_mut().for_each(|of| of.retain(|invocation| invocation != event.invocation_id()));
                pending.0.retain(|_, of| !of.is_empty());
            }
            event.function_calls().filter(|_| !event.is_from_user()).for_each(|call| pending.begin(event, call));
            event.function_responses().for_each(|response| pending.end(event, response));
        }
        pending
    }

    fn begin(&mut self, event: &Event, call: &FunctionCall) {
        let invocation = event.invocation_id().clone();
        let Some(asked) = asked_for(call) else {
            return self.0.entry(call.id.clone().unwrap_or_default()).or_default().push(invocation);
        };
        // A call that waited for permission or a credential runs after the answer, whatever has been stored for it.
        if let Some(id) = asked {
            let of = self.0.entry(id.to_owned()).or_default();
            if of.is_empty() {
                of.push(invocation);
            }
        }
    }

    /// If several calls have one id, the first call takes the first response. A response that asks a question is not a
    /// result.
    fn end(&mut self, event: &Event, response: &FunctionResponse) {
        let id = response.id.as_deref().unwrap_or_default();
        let actions = event.actions();
        if actions.requested_auth_configs().contains_key(id) || actions.requested_tool_confirmations().contains_key(id)
        {
            return;
        }
        if let Some(of) = self.0.get_mut(id) {
            of.remove(0);
            if of.is_empty() {
                self.0.remove(id);
            }
        }
    }

    /// Returns the arguments of the event's calls whose tools are still to be called.
    fn pending_args<'e>(&self, event: &'e Event) -> Vec<Option<&'e Map>> {
        let args = |call: &'e FunctionCall| match asked_for(call) {
            None => self.has(call.id.as_deref()).then_some(call.args.as_ref()),
            Some(id) => self.has(Some(id?)).then(|| {
                let args = call.args.as_ref()?.get("originalFunctionCall")?.get("args")?;
                args.as_object()
            }),
        };
        event.function_calls().filter_map(args).collect()
    }

    fn has(&self, id: Option<&str>) -> bool {
        self.0.contains_key(id.unwrap_or_default())
    }
}

/// Returns the id of the call for which a call asks permission or a credential: `None` for a tool call, `Some(None)`
/// for a call that asks for something else.
fn asked_for(call: &FunctionCall) -> Option<Option<&str>> {
    let id = match call.name.as_deref()? {
        REQUEST_CONFIRMATION => call.args.as_ref().and_then(|args| args.get("originalFunctionCall")?.get("id")),
        REQUEST_CREDENTIAL => call.args.as_ref().and_then(|args| args.get("functionCallId")),
        REQUEST_INPUT => None,
        _ => return None,
    };
    Some(id.and_then(Value::as_str))
}

/// Returns `true` if an event ends with code that is still to be executed: the event is effective, and its run has
/// produced no content since.
fn has_pending_code(events: &[Arc<Event>], place: usize) -> bool {
    let event = &events[place];
    let effective = effective_events(events);
    let is_last = |event: &Event| {
        event.content().and_then(|content| content.parts().last()).is_some_and(|part| part.executable_code.is_some())
    };
    let Some(at) = effective.iter().position(|other| Arc::ptr_eq(other, event)).filter(|_| is_last(event)) else {
        return false;
    };
    let is_of_run = |other: &Event| {
        other.invocation_id() == event.invocation_id()
            && other.path() == event.path()
            && other.author() == event.author()
    };
    let has_ended = effective[at + 1..].iter().any(|later| {
        is_of_run(later) && later.content().is_some()
            || ends_aborted(later) && later.invocation_id() == event.invocation_id()
    });
    !has_ended
}

fn code(event: &Event) -> Vec<Option<&str>> {
    let parts = event.content().map_or(&[][..], |content| content.parts());
    parts.iter().filter_map(|part| part.executable_code.as_ref()).map(|code| code.code.as_deref()).collect()
}
