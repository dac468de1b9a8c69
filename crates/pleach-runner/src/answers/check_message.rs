//! Finds the questions that a message answers, and checks the answers before anything is stored.
// R903–R907

use std::collections::BTreeSet;
use std::sync::Arc;

use pleach_context::{AnswerType, Node, NodeError};
use pleach_core::{
    Branch, Content, DEEPEST_RESULT, Event, FunctionCall, FunctionResponse, InvocationId, Map, NODE_CONFIRMATION, Part,
    Question, REQUEST_CONFIRMATION, REQUEST_INPUT, SessionKey, ToolConfirmation, Unstorable, check_map, nests_within,
};
use pleach_schema::{AnswerError, unwrap_response, validate_answer, why_not_enforced};
use pleach_session::{check_stored_answer, open_questions};
use serde::Serialize;
use serde_json::Value;

use crate::RunError;
use crate::answers::asked_calls::{AskedCalls, question_of};
use crate::deadlines::answer_id::has_come;
use crate::request::error::{open_ids, quoted};

/// The invocation and lane that a message's function responses belong to.
#[derive(Debug)]
pub(crate) struct AnsweredRun {
    /// The invocation that asked.
    pub(crate) invocation_id: InvocationId,
    /// The branch of the question; the stored answer gets the same one.
    pub(crate) branch: Option<Branch>,
    /// The scope of the question; the stored answer gets the same one.
    pub(crate) isolation_scope: Option<Arc<str>>,
    /// The questions that are answered. If a message answers an id twice, these are all questions with this id in the
    /// invocation, because the second answer is for another run.
    pub(crate) questions: Box<[Question]>,
    /// The id of the first answer to a call that asks no question, such as a call of a tool that already has a result.
    pub(crate) not_asked: Option<String>,
}

/// Returns the message part that answers a question.
///
/// # Errors
/// An answer that cannot be written as JSON.
pub(crate) fn response_part(question: &str, answer: impl Serialize) -> Result<Part, RunError> {
    let answer = pleach_core::to_json(answer).map_err(|error| misfit(question, format!("response: {error}")))?;
    let response = match answer {
        Value::Object(map) if map.len() != 1 || !map.contains_key("result") => map,
        // Readers parse the string in `result` as JSON if they can, so a string that happens to be valid JSON is
        // encoded as a JSON string.
        Value::String(text) if serde_json::from_str::<Value>(&text).is_ok() => {
            result(Value::from(Value::from(text).to_string()))
        }
        other => result(other),
    };
    Ok(Part::function_response(FunctionResponse::new(question, REQUEST_INPUT, response)))
}

fn result(value: Value) -> Map {
    Map::from_iter([("result".to_owned(), value)])
}

/// Checks a message and finds what it answers. Returns `None` for an ordinary message.
///
/// # Errors
/// The message contains function calls, or answers together with text; it answers unknown calls or several invocations;
/// or an answer does not fit its question or comes after the deadline.
pub(crate) fn find_answered_question(
    content: &Content,
    session: &SessionKey,
    events: &[Arc<Event>],
    named: Option<&InvocationId>,
    root: &dyn Node,
) -> Result<Option<AnsweredRun>, RunError> {
    if content.function_calls().next().is_some() {
        return Err(refused(
            "User message cannot contain function calls.",
            "send text, or function responses that answer questions",
        ));
    }
    let responses: Vec<&FunctionResponse> = content.function_responses().collect();
    if responses.is_empty() {
        return Ok(None);
    }
    if content.parts().iter().any(|part| part.text.as_ref().is_some_and(|text| !text.is_empty())) {
        let message = "Message cannot contain both function responses and text.";
        return Err(refused(
            message,
            "send two messages, because an answer resumes an invocation and a text starts one",
        ));
    }
    let identified: Vec<(&str, &FunctionResponse)> =
        responses.iter().filter_map(|response| Some((response.id.as_deref()?, *response))).collect();
    if identified.is_empty() {
        return match named {
            Some(_) => {
                let message = "Function response id is required to resume an invocation.";
                Err(refused(message, "set it to the id of the question"))
            }
            None => Ok(None),
        };
    }
    let open = open_questions(events);
    let asked = AskedCalls::of(events, identified.iter().map(|(id, _)| *id), &open);
    let mut calls = Vec::new();
    let mut unknown = BTreeSet::new();
    for (id, response) in identified {
        match asked.newest(id, named) {
            Some(newest) => {
                let (event, call) = asked.open_or(newest, id);
                calls.push((id, response, event, call));
            }
            None => {
                unknown.insert(id);
            }
        }
    }
    if !unknown.is_empty() {
        let ids = unknown.into_iter().map(str::to_owned).collect();
        return Err(RunError::UnknownQuestion { ids, open: open_ids(&open) });
    }
    let Some((_, _, first, _)) = calls.first() else { return Ok(None) };
    let invocations: BTreeSet<&str> = calls.iter().map(|(_, _, event, _)| event.invocation_id().as_str()).collect();
    if invocations.len() > 1 {
        return Err(several_invocations(invocations));
    }
    for (id, response, event, call) in &calls {
        if !asked.is_open(id, event.invocation_id()) && has_come(session, events, event, id) {
            let invocation = event.invocation_id().clone();
            return Err(RunError::AlreadyAnswered { id: (*id).to_owned(), invocation });
        }
        check_name(id, response, call)?;
        check(root, id, response, event, call)?;
    }
    let mut target = of_call(first);
    target.questions = questions_of(calls.iter().map(|(id, _, event, _)| (*id, *event)), &asked);
    target.not_asked =
        calls.iter().find(|(id, _, event, _)| question_of(event, id).is_none()).map(|(id, ..)| (*id).to_owned());
    if !calls.iter().any(|(_, _, _, call)| asks_input(call)) {
        // Each agent reads its answer on its own branch, so the stored message needs a branch that all of them see.
        target.branch = Branch::common_prefix(calls.iter().map(|(_, _, event, _)| event.branch()));
    }
    Ok(Some(target))
}

/// Checks that a client answers a confirmation under the right function name. google-adk ignores an answer under
/// another name, so it would never run the tool.
fn check_name(id: &str, response: &FunctionResponse, call: &FunctionCall) -> Result<(), RunError> {
    let name = response.name.as_deref().unwrap_or_default();
    let is_other = !name.is_empty() && name != REQUEST_CONFIRMATION;
    if call.name.as_deref() != Some(REQUEST_CONFIRMATION) || !is_other {
        return Ok(());
    }
    let reason = format!("a confirmation must be answered under the name {REQUEST_CONFIRMATION}, not {name:?}");
    Err(misfit(id, reason))
}

/// Returns the questions that are answered by answers with these ids.
pub(crate) fn questions_of<'a>(
    answered: impl Iterator<Item = (&'a str, &'a Event)> + Clone,
    asked: &AskedCalls<'_>,
) -> Box<[Question]> {
    let is_repeated = |id: &str| answered.clone().filter(|(other, _)| *other == id).count() > 1;
    let of_id = |(id, event): (&str, &Event)| match is_repeated(id) {
        true => asked.questions(id, event.invocation_id()),
        false => question_of(event, id).into_iter().collect(),
    };
    answered.clone().flat_map(of_id).collect()
}

/// Returns the target of an answer to a call of this event.
pub(crate) fn of_call(event: &Event) -> AnsweredRun {
    AnsweredRun {
        invocation_id: event.invocation_id().clone(),
        branch: event.branch().cloned(),
        isolation_scope: event.isolation_scope().map(Arc::from),
        questions: Box::default(),
        not_asked: None,
    }
}

pub(crate) fn several_invocations(invocations: BTreeSet<&str>) -> RunError {
    let ids = quoted(&invocations.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let rule = "All function responses in a single message must belong to the same invocation.";
    let message = format!("Function responses resolve to multiple invocations: {{{ids}}}. {rule}");
    refused(&message, "send one message for each invocation")
}

/// Returns the error of a message that is not acceptable.
fn refused(message: &str, hint: &'static str) -> RunError {
    RunError::Message(NodeError::value(message).with_hint(hint))
}

/// Returns the error of an answer that does not fit as a whole.
pub(crate) fn misfit(id: &str, reason: impl Into<String>) -> RunError {
    RunError::Answer { id: id.to_owned(), field: None, reason: reason.into() }
}

/// Returns the error of an answer that cannot be stored.
pub(crate) fn unstorable_answer(id: &str, fault: &Unstorable) -> RunError {
    misfit(id, fault.to_string())
}

/// Returns the id of the first answer that is nested too deep for its event.
pub(crate) fn too_deep_answer(message: &Content) -> Option<String> {
    let too_deep = |response: &&FunctionResponse| {
        response
            .response
            .as_ref()
            .is_some_and(|answer| answer.values().any(|value| !nests_within(value, DEEPEST_RESULT)))
    };
    message.function_responses().find(too_deep).map(|response| response.id.clone().unwrap_or_default())
}

/// Returns the response schema that a question has stored.
pub(crate) fn schema_of(call: &FunctionCall) -> Option<&Value> {
    let schema = call.args.as_ref()?.get("response_schema")?;
    (asks_input(call) && schema.is_object()).then_some(schema)
}

/// Checks an answer before it is stored, against the schema of its question and against the type that the asking node
/// declares. Every later reader checks the schema as well.
pub(crate) fn check(
    root: &dyn Node,
    id: &str,
    response: &FunctionResponse,
    asked: &Event,
    call: &FunctionCall,
) -> Result<(), RunError> {
    check_types(answer_type(root, asked), id, response, call)
}

/// Checks an answer against the schema that its question stored, and against the type that the asking node declares, if that is known.
pub(crate) fn check_types(
    declared: Option<AnswerType>,
    id: &str,
    response: &FunctionResponse,
    call: &FunctionCall,
) -> Result<(), RunError> {
    let empty = Map::new();
    let stored = response.response.as_ref().unwrap_or(&empty);
    check_map("response", stored).map_err(|fault| unstorable_answer(id, &fault))?;
    // google-adk accepts confirmations with keys that its own schema forbids.
    let is_confirmation = id.starts_with(NODE_CONFIRMATION);
    let schema = schema_of(call).filter(|_| !is_confirmation);
    let answer_type = declared.filter(|_| !is_confirmation && asks_input(call));
    let misfit = |reason: String| misfit(id, format!("{reason}{}", change(schema, answer_type)));
    let misfit_of = |fault: AnswerError| RunError::Answer {
        id: id.to_owned(),
        field: Some(fault.field()).filter(|field| !field.is_empty()).map(str::to_owned),
        reason: format!("{fault}{}", change(schema, answer_type)),
    };
    // google-adk turns null into an answer that fails the run, or into none at all, so it is refused.
    let is_absent = response.response.is_none();
    let is_null = is_absent || stored.get("confirmed").is_some_and(Value::is_null);
    if is_absent && asks_input(call) {
        return Err(misfit("it has no `response`".to_owned()));
    }
    if call.name.as_deref() == Some(REQUEST_CONFIRMATION)
        && (is_null || ToolConfirmation::from_response(&unwrap_response(stored)).is_err())
    {
        let wanted = "a confirmation is {\"confirmed\": true} or {\"confirmed\": false}, with an optional `payload`";
        return Err(misfit(wanted.to_owned()));
    }
    if let Some(schema) = schema {
        let answer = unwrap_response(stored);
        validate_answer(schema, &answer).map_err(misfit_of)?;
    }
    let fitting = check_stored_answer(schema_of(call), response).map_err(misfit)?;
    answer_type.map_or(Ok(()), |wanted| wanted.check(&fitting).map_err(misfit_of))
}

/// Returns a note for the error if the question was asked with another schema than its node declares now. The type may
/// have changed while the question was open, so perhaps no answer fits both.
fn change(asked_with: Option<&Value>, declared: Option<AnswerType>) -> &'static str {
    match (asked_with, declared.and_then(AnswerType::schema)) {
        (Some(asked_with), Some(declared)) if *asked_with != declared => {
            " (the schema of the question differs from the schema of its node's answer type: if the type has changed since it was \
             asked, start a new invocation)"
        }
        _ => "",
    }
}

fn asks_input(call: &FunctionCall) -> bool {
    call.name.as_deref() == Some(REQUEST_INPUT)
}

/// Returns the answer type that the asking node declares.
fn answer_type(root: &dyn Node, asked: &Event) -> Option<AnswerType> {
    let names: Vec<&str> =
        asked.path().segments().map(|run| run.rsplit_once('@').map_or(run, |(name, _)| name)).collect();
    let (first, below) = names.split_first()?;
    if *first == root.spec().name { root.answer_type(below) } else { None }
}

/// Warns about questions whose schema is not enforced: as in google-adk, every answer is accepted.
// Not called from the node, because compiling a schema needs more stack than nested runs leave.
pub(crate) fn warn_unenforced(event: &Event) {
    for call in event.function_calls() {
        if let Some(reason) = schema_of(call).and_then(why_not_enforced) {
            let question = call.id.as_deref().unwrap_or_default();
            tracing::warn!(node = %event.path(), question, reason, "the schema of the question is not enforced: every answer is accepted");
        }
    }
}
