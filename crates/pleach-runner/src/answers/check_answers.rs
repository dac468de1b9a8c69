//! Checks the answers of [`Runner::answer`](crate::Runner::answer): finds the question of each answer, and decides
//! whether the answer still has an effect.

use std::collections::BTreeSet;
use std::sync::Arc;

use pleach_context::engine::{AnswerState as Earlier, KeptCredentials};
use pleach_context::{History, Node};
use pleach_core::{
    Content, Event, FunctionCall, FunctionResponse, Map, Part, Question, REQUEST_CREDENTIAL, SessionKey,
};
use pleach_session::{check_stored_answer, effective_events_of, newest_effective_events, open_questions};
use serde_json::Value;

use crate::RunError;
use crate::answers::asked_calls::{AskedCall, AskedCalls};
use crate::answers::check_message::{AnsweredRun, check, of_call, questions_of, several_invocations};
use crate::deadlines::answer_id::has_come;
use crate::request::error::open_ids;
use crate::request::question_ref::{AnswerChecks, IfAnswered, QuestionRef};

/// The answers of a message after the checks.
#[derive(Debug)]
pub(crate) struct AcceptedAnswers {
    /// The invocation and questions that the message answers.
    pub(crate) answered: AnsweredRun,
    /// The answers to store; `None` if all are stored already.
    pub(crate) message: Option<Content>,
    /// The history of the invocation that asked.
    pub(crate) history: Box<History>,
}

/// The context for checking answers.
pub(crate) struct AnswerContext<'a> {
    pub(crate) session: &'a SessionKey,
    pub(crate) events: &'a [Arc<Event>],
    pub(crate) root: &'a Arc<dyn Node>,
    pub(crate) credentials: &'a KeptCredentials,
}

/// Finds the question of each part of a message, and drops answers that are stored already.
///
/// # Errors
/// A question is unknown or ambiguous, or has a different answer that is final; the questions belong to several
/// invocations; or an answer does not fit.
pub(crate) fn resolve_answers(
    message: &Content,
    answer_checks: &AnswerChecks,
    session: &AnswerContext<'_>,
) -> Result<AcceptedAnswers, RunError> {
    let AnswerContext { events, root, .. } = *session;
    let open = open_questions(events);
    let calls = AskedCalls::of(events, answer_checks.questions.iter().map(QuestionRef::id), &open);
    let mut asked = Vec::new();
    for question in &answer_checks.questions {
        asked.push(find(question, &calls, &open)?);
    }
    let invocations: BTreeSet<&str> = asked.iter().map(|(event, _)| event.invocation_id().as_str()).collect();
    let Some((first, _)) = asked.first().filter(|_| invocations.len() == 1) else {
        return Err(several_invocations(invocations));
    };
    let invocation = first.invocation_id();
    let history = Box::new(History::of_root(&effective_events_of(events, invocation), root));
    let mut parts = Vec::new();
    for ((event, call), part) in asked.iter().zip(message.parts()) {
        let Some(response) = &part.function_response else { continue };
        let id = call.id.as_deref().unwrap_or_default();
        let effect = if calls.is_open(id, invocation) {
            Effect::New
        } else {
            session.effect_of(&history, event, call, response)
        };
        let already = || RunError::AlreadyAnswered { id: id.to_owned(), invocation: invocation.clone() };
        match (effect, answer_checks.if_answered) {
            (Effect::New, _) | (Effect::Replaces, IfAnswered::Replaces) => {}
            (Effect::Same, IfAnswered::Replaces | IfAnswered::IsAcceptedIfSame) => continue,
            (Effect::Late, _) | (_, IfAnswered::IsRefused) | (Effect::Replaces, _) => return Err(already()),
        }
        check(&**root, id, response, event, call)?;
        // Models match the result of a long-running call with its call by id and by name.
        let mut named = FunctionResponse::clone(response);
        named.name.clone_from(&call.name);
        parts.push(Part::function_response(named));
    }
    let message = (!parts.is_empty()).then(|| of_parts(message, parts));
    let mut answered = of_call(first);
    let ids = asked.iter().map(|(event, call)| (call.id.as_deref().unwrap_or_default(), *event));
    answered.questions = questions_of(ids, &calls);
    Ok(AcceptedAnswers { answered, message, history })
}

fn of_parts(message: &Content, parts: Vec<Part>) -> Content {
    let mut content = Content::new("user", parts);
    content.role.clone_from(&message.role);
    content
}

/// Returns the call that asks a question.
fn find<'a>(wanted: &QuestionRef, calls: &AskedCalls<'a>, open: &[Question]) -> Result<AskedCall<'a>, RunError> {
    let id = wanted.id();
    let asking = calls.asking(id);
    let named = match wanted.invocation() {
        Some(invocation) => Some(invocation),
        None if asking.len() > 1 => {
            let invocations = asking.into_iter().cloned().collect();
            return Err(RunError::AmbiguousQuestion { id: id.to_owned(), invocations });
        }
        None => asking.into_iter().next(),
    };
    let newest = calls.newest_question(id, named);
    let newest = newest.ok_or_else(|| RunError::UnknownQuestion { ids: vec![id.to_owned()], open: open_ids(open) })?;
    Ok(calls.open_or(newest, id))
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The question is open.
    New,
    /// A different answer is stored, and no run that used it has completed.
    Replaces,
    /// The same answer is stored.
    Same,
    /// A run that used a different answer has completed, the deadline has passed, or another question of the same select is answered.
    Late,
}

impl AnswerContext<'_> {
    /// Returns the effect of an answer to a question that is not open.
    fn effect_of(&self, history: &History, asked: &Event, call: &FunctionCall, response: &FunctionResponse) -> Effect {
        let id = call.id.as_deref().unwrap_or_default();
        match history.answer_to(id) {
            Earlier::Waiting => Effect::New,
            Earlier::Unknown => self.effect_outside_nodes(asked, call, response),
            Earlier::Replaceable(given) | Earlier::Final(given) if self.is_same(asked, call, response, given) => {
                Effect::Same
            }
            Earlier::Replaceable(_) if has_come(self.session, self.events, asked, id) => Effect::Late,
            Earlier::Replaceable(_) => Effect::Replaces,
            Earlier::Final(_) | Earlier::Withdrawn => Effect::Late,
        }
    }

    /// Returns the effect of an answer to a question that no node asked. Its first stored answer is final, even if
    /// another invocation stored it.
    fn effect_outside_nodes(&self, asked: &Event, call: &FunctionCall, response: &FunctionResponse) -> Effect {
        let answers = |event: &&Arc<Event>| event.is_from_user();
        let later = newest_effective_events(self.events).take_while(|event| !std::ptr::eq(&***event, asked));
        let mut given = later.filter(answers).flat_map(|event| event.function_responses());
        match given.find(|given| given.id == call.id).map(|given| answer_in(call, given)) {
            // The question is closed for another reason, such as an abort.
            None => Effect::New,
            Some(Some(given)) if self.is_same(asked, call, response, &given) => Effect::Same,
            Some(_) => Effect::Late,
        }
    }

    /// Returns `true` if an answer equals the stored one. Credentials are not stored: only the process that received a
    /// credential can compare it, and only until the invocation ends.
    fn is_same(&self, asked: &Event, call: &FunctionCall, response: &FunctionResponse, given: &Value) -> bool {
        if call.name.as_deref() != Some(REQUEST_CREDENTIAL) {
            return answer_in(call, response).is_some_and(|answer| answer == *given);
        }
        let (id, empty) = (call.id.as_deref().unwrap_or_default(), Map::new());
        let answer = response.response.as_ref().unwrap_or(&empty);
        self.credentials.is_kept(self.session, asked.invocation_id(), id, answer)
    }
}

/// Returns the value that readers of the history get for an answer.
fn answer_in(call: &FunctionCall, response: &FunctionResponse) -> Option<Value> {
    check_stored_answer(crate::answers::check_message::schema_of(call), response).ok()
}

#[cfg(test)]
mod tests {
    use pleach_context::{Context, Flow, NodeError, NodeInput, NodeSpec};
    use pleach_core::{BoxFuture, OutputFor, RequestInput};
    use serde_json::json;

    use super::*;

    fn response(answer: &str) -> FunctionResponse {
        FunctionResponse::new("q", "adk_request_input", Map::from_iter([("result".to_owned(), json!(answer))]))
    }

    /// Events of the run `wf@1/a@1`: `?` asks `q`, `=x` answers it, `out` is an output; `b` is an output of another run.
    fn event(text: &str) -> Arc<Event> {
        let event = match text {
            "?" => RequestInput::<Value>::new().into_event("q").with_node_path("wf@1/a@1"),
            "out" | "b" => {
                let mut event = Event::of(1).with_node_path(if text == "b" { "wf@1/b@1" } else { "wf@1/a@1" });
                event.set_output_for(OutputFor::Own);
                event
            }
            answer => {
                let part = Part::function_response(response(answer.trim_start_matches('=')));
                Event::from_author("user").with_content(Content::new("user", [part]))
            }
        };
        Arc::new(event)
    }

    /// The root of the workflow; no test runs it.
    struct Root(NodeSpec);

    impl Node for Root {
        fn spec(&self) -> &NodeSpec {
            &self.0
        }

        fn run<'a>(&'a self, _: Context, _: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn r910_the_effect_of_an_answer_depends_on_the_runs_that_used_the_earlier_one() {
        let session = SessionKey::new("app", "ana", "s");
        let root: Arc<dyn Node> = Arc::new(Root(NodeSpec::new("wf")));
        let credentials = KeptCredentials::default();
        for (rule, log, answer, expected) in [
            ("the same answer", "? =x", "x", Effect::Same),
            ("another answer before a run used the first", "? =x", "y", Effect::Replaces),
            ("another answer after the run completed", "? =x out", "y", Effect::Late),
            ("another answer after a successor completed", "? =x b", "y", Effect::Late),
            ("the same answer after the run completed", "? =x out", "x", Effect::Same),
            ("a question that no recorded run asked", "out", "x", Effect::New),
            ("asked again", "? =x ?", "y", Effect::New),
        ] {
            let events: Vec<Arc<Event>> = log.split_whitespace().map(event).collect();
            let history = History::of_root(&events.iter().collect::<Vec<_>>(), &root);
            let question = event("?");
            let call = question.function_calls().next().unwrap();
            let asked = AnswerContext { session: &session, events: &events, root: &root, credentials: &credentials };
            assert_eq!(asked.effect_of(&history, &question, call, &response(answer)), expected, "{rule}");
        }
    }
}
