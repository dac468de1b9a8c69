//! [`Recorded`]: what the stored events of a run lead to.
// L117–L120

use std::sync::Arc;

use pleach_context::Context;
use pleach_context::engine::Engine as _;
use pleach_core::{Event, FunctionCall, InvocationId, NodePath, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL};
use pleach_schema::unwrap_response;
use serde_json::Value;

/// A call that is to be executed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingCall {
    pub(crate) call: FunctionCall,
    /// The answer to the request for its confirmation.
    pub(crate) confirmation: Option<Value>,
    /// The id under which it has asked for a credential that has come.
    pub(crate) credential: Option<String>,
}

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// It begins.
    Start,
    /// It asks its model.
    AskModel,
    /// It executes calls that have no response yet.
    Execute(Vec<PendingCall>),
    /// It waits for answers to these questions.
    Wait(Vec<String>),
    /// It has transferred to this agent.
    Transfer(String),
    /// It is done.
    Ended,
}

/// What the stored events of a run lead to.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) next: Next,
    /// What the agent has said.
    pub(crate) said: String,
    /// How many events of the session came before the first of the run.
    pub(crate) began_at: usize,
    /// An event records that the agent is done.
    pub(crate) is_marked: bool,
    /// How many calls of each function have a response.
    pub(crate) called: Vec<(String, u32)>,
}

/// A call of the last batch.
#[derive(Debug)]
struct Call<'e> {
    call: &'e FunctionCall,
    id: &'e str,
    is_long_running: bool,
    has_response: bool,
    has_result: bool,
}

/// A request for a confirmation or a credential.
#[derive(Debug)]
struct Question<'e> {
    id: &'e str,
    /// The call that asks.
    call: &'e str,
    is_credential: bool,
    answer: Option<Value>,
}

/// Reads the events one by one.
#[derive(Debug, Default)]
struct Reader<'e> {
    calls: Vec<Call<'e>>,
    questions: Vec<Question<'e>>,
    said: String,
    began: bool,
    is_marked: bool,
    called: Vec<(String, u32)>,
    transfer: Option<&'e str>,
    last: Last,
}

/// What the last event that counts was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Calls,
    Responses {
        is_final: bool,
    },
    Answer,
    Message,
}

impl Recorded {
    /// Reads what the agent has done in the run of `ctx`: its events at `path`, from the session's event `since` on.
    pub(crate) fn of(ctx: &Context, path: &NodePath, agent: &str, since: usize) -> Self {
        let ic = ctx.invocation();
        let scope = ctx.isolation_scope();
        let is_resumed = ic.engine().history().is_some();
        ic.engine().with_events(|events| {
            // A fresh invocation has only its own events behind the last one of another.
            let is_other = |event: &Arc<Event>| event.invocation_id() != ic.invocation_id();
            let first = || events.iter().rposition(is_other).map_or(0, |last| last + 1);
            let from = if is_resumed { since } else { since.max(first()) };
            Self::read(events, from, ic.invocation_id(), path, agent, scope.as_deref())
        })
    }

    /// Reads the events of the run at `path`, and the answers to its questions.
    fn read(
        events: &[Arc<Event>],
        since: usize,
        invocation: &InvocationId,
        path: &NodePath,
        agent: &str,
        scope: Option<&str>,
    ) -> Self {
        let mut reader = Reader::default();
        let mut began_at = events.len();
        let of_invocation = events.iter().enumerate().skip(since);
        for (place, event) in of_invocation.filter(|(_, event)| event.invocation_id() == invocation) {
            let is_own = event.path() == path && event.author() == agent && !event.is_partial();
            if is_own {
                if !reader.began {
                    began_at = place;
                }
                reader.take_own(event);
            } else if event.author() == "user" && (event.path().is_root() || event.path() == path) {
                reader.take_answers(event);
                if scope.is_some() && event.isolation_scope() == scope && event.function_responses().next().is_none() {
                    reader.take_message();
                }
            }
        }
        let (next, said) = (reader.next(), reader.said);
        Self { next, said, began_at, is_marked: reader.is_marked, called: reader.called }
    }
}

impl<'e> Reader<'e> {
    fn take_own(&mut self, event: &'e Event) {
        self.began = true;
        let is_failure = event.error_code().is_some() && event.content().is_none();
        if is_failure && !is_reported(event) {
            // The attempt ended; the next one continues where it stopped.
            return;
        }
        if event.actions().end_of_agent() == Some(true) {
            self.is_marked = true;
            return;
        }
        self.said.push_str(&event.text());
        let mut calls = event.function_calls().peekable();
        let mut responses = event.function_responses().peekable();
        if calls.peek().is_some() {
            self.take_calls(event, calls);
        } else if responses.peek().is_some() {
            self.take_responses(event, responses);
        } else if event.content().is_some() || is_failure {
            self.last = Last::Message;
        }
    }

    fn take_calls(&mut self, event: &'e Event, calls: impl Iterator<Item = &'e FunctionCall>) {
        let long_running = event.long_running_tool_ids();
        let mut is_batch = false;
        for call in calls {
            let id = call.id.as_deref().unwrap_or_default();
            if let Some(question) = question(id, call) {
                self.questions.push(question);
                continue;
            }
            if !std::mem::replace(&mut is_batch, true) {
                self.calls.clear();
                self.questions.clear();
            }
            let is_long_running = long_running.is_some_and(|ids| ids.contains(id));
            self.calls.push(Call { call, id, is_long_running, has_response: false, has_result: false });
        }
        if is_batch {
            self.last = Last::Calls;
        }
    }

    fn take_responses(&mut self, event: &'e Event, responses: impl Iterator<Item = &'e pleach_core::FunctionResponse>) {
        for response in responses {
            let id = response.id.as_deref().unwrap_or_default();
            self.calls.iter_mut().filter(|call| call.id == id).for_each(|call| call.has_response = true);
            let name = response.name.as_deref().unwrap_or_default();
            match self.called.iter_mut().find(|(known, _)| known == name) {
                Some((_, calls)) => *calls += 1,
                None => self.called.push((name.to_owned(), 1)),
            }
            self.questions.retain(|question| question.call != id || question.answer.is_none());
        }
        let is_final = event.actions().skip_summarization() == Some(true);
        self.transfer = event.actions().transfer_to_agent();
        self.last = Last::Responses { is_final };
    }

    /// Takes what a client has sent for a question or a long-running call.
    fn take_answers(&mut self, event: &'e Event) {
        for response in event.function_responses() {
            let id = response.id.as_deref().unwrap_or_default();
            for question in self.questions.iter_mut().filter(|question| question.id == id) {
                question.answer = Some(response.response.as_ref().map(unwrap_response).unwrap_or_default());
                self.last = Last::Answer;
            }
            for call in self.calls.iter_mut().filter(|call| call.id == id) {
                (call.has_response, call.has_result) = (true, true);
                self.last = Last::Answer;
            }
        }
    }

    /// Takes what the user has said about the agent's task.
    // L191
    fn take_message(&mut self) {
        if self.last == Last::Message {
            self.last = Last::Answer;
        }
    }

    fn next(&self) -> Next {
        if !self.began {
            return Next::Start;
        }
        if let (Some(target), Last::Responses { .. }) = (self.transfer, self.last) {
            return Next::Transfer(target.to_owned());
        }
        let open = self.open();
        if !open.is_empty() {
            return Next::Wait(open);
        }
        let answered = self.questions.iter().filter_map(|question| self.answered(question)).collect::<Vec<_>>();
        if !answered.is_empty() {
            return Next::Execute(answered);
        }
        let unanswered = self.unanswered();
        if !unanswered.is_empty() && self.last != Last::Message {
            return Next::Execute(unanswered);
        }
        match self.last {
            Last::Nothing | Last::Calls | Last::Answer | Last::Responses { is_final: false } => Next::AskModel,
            Last::Responses { is_final: true } | Last::Message => Next::Ended,
        }
    }

    /// The questions without an answer, and the long-running calls without a result.
    fn open(&self) -> Vec<String> {
        let asks = self.questions.iter().filter(|question| question.answer.is_none()).map(|question| question.id);
        let waits = |call: &&Call<'_>| match self.last {
            // The model is asked with the responses that there are.
            Last::Responses { .. } => !call.has_response,
            Last::Answer => true,
            // A call that was cut off before anything was stored behind it runs first.
            Last::Calls | Last::Message | Last::Nothing => !self.questions.is_empty(),
        };
        let runs = self.calls.iter().filter(|call| call.is_long_running && !call.has_result).filter(waits);
        asks.chain(runs.map(|call| call.id)).map(str::to_owned).collect()
    }

    fn answered(&self, question: &Question<'_>) -> Option<PendingCall> {
        let call = self.calls.iter().find(|call| call.id == question.call)?;
        let answer = question.answer.clone()?;
        Some(PendingCall {
            call: call.call.clone(),
            confirmation: (!question.is_credential).then_some(answer),
            credential: question.is_credential.then(|| question.id.to_owned()),
        })
    }

    fn unanswered(&self) -> Vec<PendingCall> {
        let calls = self.calls.iter().filter(|call| !call.has_response);
        calls.map(|call| PendingCall { call: call.call.clone(), confirmation: None, credential: None }).collect()
    }
}

/// Returns whether the model has reported the error, so that it is an answer and not the end of a failed attempt.
fn is_reported(event: &Event) -> bool {
    event.custom_metadata().is_some_and(|metadata| metadata.contains_key(REPORTED_ERROR))
}

/// The note on an error event behind which the agent continued.
pub(super) const REPORTED_ERROR: &str = "_adk_reported_error";

/// The request that a call makes; `None` for a call of a tool.
fn question<'e>(id: &'e str, call: &'e FunctionCall) -> Option<Question<'e>> {
    let args = call.args.as_ref();
    let (call, is_credential) = match call.name.as_deref()? {
        REQUEST_CONFIRMATION => (args?.get("originalFunctionCall")?.get("id")?.as_str()?, false),
        REQUEST_CREDENTIAL => (args?.get("functionCallId")?.as_str()?, true),
        _ => return None,
    };
    Some(Question { id, call, is_credential, answer: None })
}
