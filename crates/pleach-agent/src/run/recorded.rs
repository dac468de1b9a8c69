//! [`Recorded`]: what the stored events of a run lead to.
// L117–L120

use std::sync::Arc;

use foldhash::HashMap;

use pleach_context::engine::{Engine as _, credential_key};
use pleach_context::{Context, InvocationContext};
use pleach_core::{AuthConfig, Event, FunctionCall, InvocationId, NodePath, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL};
use pleach_schema::unwrap_response;
use serde_json::Value;

use super::{CallbackNote, Closing};
use crate::call_ids::run_id;
use crate::guidance::TRANSFER_TO_AGENT;

/// A call that is to be executed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingCall {
    pub(crate) call: FunctionCall,
    /// The answer to the request for its confirmation.
    pub(crate) confirmation: Option<Value>,
    /// Its question is stored, but not the response that holds its place.
    pub(crate) is_asked: bool,
    /// The id under which it has asked for a credential that has come.
    pub(crate) credential: Option<String>,
    /// How many calls of the function the run has made, this one included.
    pub(crate) ordinal: u32,
    /// A name for what the call runs: its id, made unique in the run and safe for paths.
    pub(crate) key: String,
    /// The run has made no call before.
    pub(crate) is_first: bool,
}

/// Numbers the calls of a run, so that what they run is found again on a resume.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallNumbers {
    by_name: HashMap<String, u32>,
    by_id: HashMap<String, u32>,
}

impl CallNumbers {
    /// Numbers the next call.
    pub(crate) fn number(&mut self, call: &FunctionCall) -> PendingCall {
        let (id, name) = (run_id(call.id.as_deref().unwrap_or_default()), call.name.clone().unwrap_or_default());
        let is_first = self.by_name.is_empty();
        let ordinal = self.by_name.entry(name).or_default();
        *ordinal += 1;
        let repeated = self.by_id.entry(id.clone()).or_default();
        *repeated += 1;
        // Providers repeat ids, some of them numbers.
        let key = if *repeated == 1 { id } else { format!("{id}~{repeated}") };
        PendingCall {
            call: call.clone(),
            confirmation: None,
            is_asked: false,
            credential: None,
            ordinal: *ordinal,
            key,
            is_first,
        }
    }
}

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// It begins.
    Start,
    /// It asks its model.
    AskModel,
    /// It executes calls that have no response yet, and then waits for these answers.
    Execute(Vec<PendingCall>, Vec<String>),
    /// It waits for answers to these questions.
    Wait(Vec<String>),
    /// It says the answer that it has given by a call.
    Say(Value),
    /// It has transferred to this agent, with the event at this place of the session.
    Transfer(String, usize),
    /// It has said its last words; those of a task ask the user.
    Said,
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
    /// How far the end of the run is recorded.
    pub(crate) closing: Closing,
    /// The ids of the long-running calls without a result.
    pub(crate) jobs: Vec<String>,
    /// The numbers of the calls that it has made.
    pub(crate) numbers: CallNumbers,
}

/// A call of the last batch, or a long-running one of an earlier batch.
#[derive(Debug)]
struct Call<'e> {
    pending: PendingCall,
    id: &'e str,
    is_long_running: bool,
    is_earlier: bool,
    has_response: bool,
    has_result: bool,
    /// Its response asks for a confirmation or a credential.
    asks: bool,
    /// The key of the credential that it asks for.
    key: Option<String>,
}

/// A request for a confirmation or a credential.
#[derive(Debug)]
struct Question<'e> {
    id: &'e str,
    /// The call that asks.
    call: &'e str,
    /// The key of the credential.
    key: Option<String>,
    answer: Option<Value>,
}

/// Reads the events one by one.
#[derive(Debug, Default)]
struct Reader<'e> {
    numbers: CallNumbers,
    calls: Vec<Call<'e>>,
    questions: Vec<Question<'e>>,
    said: String,
    began: bool,
    /// A callback has answered instead of the agent.
    is_answered: bool,
    closing: Closing,
    /// A message of the user follows what was read.
    turn_ended: bool,
    /// The end of a failed attempt follows what was read.
    has_failed: bool,
    transfer: Option<(&'e str, usize)>,
    last: Last,
}

/// What the last event that counts was.
#[derive(Clone, Debug, Default, PartialEq)]
enum Last {
    #[default]
    Nothing,
    Calls,
    Responses {
        is_final: bool,
    },
    /// An answer by a call, which is still to be said.
    Given(Value),
    Answer,
    Message,
}

/// Which of the session's events are looked at.
#[derive(Clone, Copy)]
struct Range {
    /// The first that may be of the invocation.
    first: usize,
    /// The first that may be of the run.
    since: usize,
}

impl Recorded {
    /// Reads what the agent has done in the run of `ctx`: its events at `path`, from the session's event `since` on.
    pub(crate) fn of(ctx: &Context, path: &NodePath, agent: &str, since: usize) -> Self {
        let ic = ctx.invocation();
        let scope = ctx.isolation_scope();
        ic.engine().with_events(|events| {
            let range = Range { first: first_event(events, ic), since };
            Self::read(events, range, ic.invocation_id(), path, agent, scope.as_deref())
        })
    }

    /// Reads the events of the run at `path`, and the answers to its questions.
    fn read(
        events: &[Arc<Event>],
        Range { first, since }: Range,
        invocation: &InvocationId,
        path: &NodePath,
        agent: &str,
        scope: Option<&str>,
    ) -> Self {
        let mut reader = Reader::default();
        let mut began_at = events.len();
        let of_invocation = events.iter().enumerate().skip(first);
        for (place, event) in of_invocation.filter(|(_, event)| event.invocation_id() == invocation) {
            if event.path() == path && place >= since && is_failure(event) {
                // The attempt ended; the next one continues where it stopped.
                reader.has_failed = true;
                continue;
            }
            let is_own = event.path() == path && event.author() == agent && !event.is_partial();
            if is_own && place < since {
                reader.number_calls(event);
            } else if is_own && reader.transfer.is_some() {
                // What the agent does after it is another run of it, but for the mark of this one.
                if event.actions().end_of_agent() == Some(true) {
                    reader.closing = Closing::Closed;
                }
                break;
            } else if is_own {
                began_at = began_at.min(place);
                reader.take_own(event, place);
            } else if place < since || reader.transfer.is_some() {
            } else if event.author() == "user" && (event.path().is_root() || event.path() == path) {
                reader.end_turn();
                reader.take_answers(event);
                if scope.is_some() && event.isolation_scope() == scope && event.function_responses().next().is_none() {
                    reader.take_message();
                }
            }
        }
        Self {
            next: reader.next(),
            jobs: reader.jobs().map(|call| call.id.to_owned()).collect(),
            said: reader.said,
            began_at,
            closing: reader.closing,
            numbers: reader.numbers,
        }
    }
}

impl<'e> Reader<'e> {
    /// Numbers the calls of an event of an earlier run of the agent at the same path.
    fn number_calls(&mut self, event: &'e Event) {
        for call in event.function_calls().filter(|call| question("", call).is_none()) {
            self.numbers.number(call);
        }
    }

    fn take_own(&mut self, event: &'e Event, place: usize) {
        self.began = true;
        (self.turn_ended, self.has_failed) = (false, false);
        self.closing.take(event);
        self.is_answered = CallbackNote::on(event) == Some(CallbackNote::Before) && event.content().is_some();
        if event.actions().end_of_agent() == Some(true) {
            return;
        }
        let mut calls = event.function_calls().peekable();
        let mut responses = event.function_responses().peekable();
        self.said.push_str(&event.text());
        if responses.peek().is_some() {
            self.take_responses(event, responses, place);
            return;
        }
        if calls.peek().is_some() {
            self.take_calls(event, calls);
        } else if event.content().is_some() || event.error_code().is_some() {
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
                // The result of a job may come much later.
                self.calls.retain(|call| call.is_long_running && !call.has_result);
                self.calls.iter_mut().for_each(|call| call.is_earlier = true);
                self.questions.clear();
            }
            self.calls.push(Call {
                pending: self.numbers.number(call),
                id,
                is_long_running: long_running.is_some_and(|ids| ids.contains(id)),
                is_earlier: false,
                has_response: false,
                has_result: false,
                asks: false,
                key: None,
            });
        }
        if is_batch {
            self.last = Last::Calls;
        }
    }

    fn take_responses(
        &mut self,
        event: &'e Event,
        responses: impl Iterator<Item = &'e pleach_core::FunctionResponse>,
        place: usize,
    ) {
        let actions = event.actions();
        for response in responses {
            let id = response.id.as_deref().unwrap_or_default();
            let key = actions.requested_auth_configs().get(id).map(credential_key);
            let asks = key.is_some() || actions.requested_tool_confirmations().contains_key(id);
            if let Some(call) = self.calls.iter_mut().find(|call| call.id == id && (!call.has_response || call.asks)) {
                (call.has_response, call.asks, call.key) = (true, asks, key);
            }
            if let Some(at) = self.questions.iter().position(|asked| asked.call == id && asked.answer.is_some()) {
                self.questions.remove(at);
            }
        }
        self.transfer = actions.transfer_to_agent().map(|target| (target, place));
        self.last = match actions.set_model_response() {
            Some(answer) => Last::Given(answer.clone()),
            None => Last::Responses { is_final: actions.skip_summarization() == Some(true) },
        };
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
        if self.is_answered {
            // The callbacks before the agent are asked about each message.
            *self = Self { numbers: std::mem::take(&mut self.numbers), ..Self::default() };
        } else if self.last == Last::Message {
            self.last = Last::Answer;
        }
    }

    /// A message of the user comes when everything before it has ended.
    fn end_turn(&mut self) {
        self.turn_ended = true;
        let has_ended = match self.last {
            Last::Message => true,
            Last::Responses { is_final } => is_final && self.open().is_empty(),
            _ => false,
        };
        if has_ended {
            self.closing.take_message();
        }
    }

    fn next(&self) -> Next {
        if !self.began {
            return Next::Start;
        }
        if let Some((target, place)) = self.transfer {
            return Next::Transfer(target.to_owned(), place);
        }
        if self.closing.is_marked() {
            return Next::Ended;
        }
        let open = self.open();
        let calls = if self.last == Last::Message { Vec::new() } else { self.to_execute(open.is_empty()) };
        if !calls.is_empty() {
            return Next::Execute(calls, open);
        }
        if !open.is_empty() {
            return Next::Wait(open);
        }
        match &self.last {
            Last::Given(answer) => Next::Say(answer.clone()),
            Last::Nothing | Last::Calls | Last::Answer | Last::Responses { is_final: false } => Next::AskModel,
            Last::Message => Next::Said,
            Last::Responses { is_final: true } => Next::Ended,
        }
    }

    /// The questions without an answer, and the long-running calls without a result that the agent waits for.
    fn open(&self) -> Vec<String> {
        let asks = self.questions.iter().filter(|question| question.answer.is_none()).map(|question| question.id);
        let waits = |call: &&Call<'_>| match self.last {
            // The model is asked with the responses that there are.
            Last::Responses { .. } | Last::Given(_) => !call.has_response && !call.is_earlier,
            // Only what came first decides when the model is asked again.
            Last::Answer => !call.is_earlier,
            Last::Message => true,
            Last::Calls | Last::Nothing => !self.is_cut(),
        };
        let runs = self.jobs().filter(waits);
        asks.chain(runs.map(|call| call.id)).map(str::to_owned).collect()
    }

    /// The long-running calls without a result.
    fn jobs(&self) -> impl Iterator<Item = &Call<'e>> {
        self.calls.iter().filter(|call| call.is_long_running && !call.has_result)
    }

    /// Returns whether the batch may have been cut off before all its responses: they are stored together, but for those of calls
    /// that ended before another one failed. A long-running call that has only started leaves nothing, so it starts again, unless
    /// the run has paused with it.
    fn is_cut(&self) -> bool {
        let waits =
            |call: &Call<'_>| call.is_long_running || call.pending.call.name.as_deref() == Some(TRANSFER_TO_AGENT);
        let is_missing = |call: &Call<'_>| match self.last {
            Last::Calls => !call.has_response && (!call.is_long_running || !self.turn_ended),
            Last::Responses { .. } => !call.has_response && !waits(call) && !self.turn_ended,
            _ => false,
        };
        self.has_failed || self.calls.iter().filter(|call| !call.is_earlier).any(is_missing)
    }

    /// The calls that have no response, and, when nothing is open, those whose questions are answered, in order.
    fn to_execute(&self, is_closed: bool) -> Vec<PendingCall> {
        let mut answers: Vec<&Question<'_>> = self.questions.iter().filter(|asked| asked.answer.is_some()).collect();
        let is_asked = |call: &Call<'_>| self.questions.iter().any(|asked| asked.is_for(call));
        let mut calls = Vec::new();
        for call in self.calls.iter().filter(|call| !call.is_earlier) {
            let answer = answers.iter().position(|asked| asked.call == call.id).map(|at| answers.remove(at));
            match answer {
                Some(answer) if is_closed => calls.push(call.answered(answer)),
                Some(_) => {}
                // Another call has asked for the credential.
                None if is_closed && self.questions.iter().any(|asked| asked.gives_credential_to(call)) => {
                    calls.push(call.pending.clone());
                }
                // The question that belongs to the response was cut off.
                None if call.asks && !is_asked(call) => calls.push(call.pending.clone()),
                None if call.has_response => {}
                None if is_asked(call) => {
                    calls.push(PendingCall { is_asked: true, ..call.pending.clone() });
                }
                None if call.is_long_running && !self.is_cut() => {}
                // A transfer comes after the answers.
                None if !is_closed && call.pending.call.name.as_deref() == Some(TRANSFER_TO_AGENT) => {}
                None => calls.push(call.pending.clone()),
            }
        }
        calls
    }
}

impl Call<'_> {
    fn answered(&self, question: &Question<'_>) -> PendingCall {
        PendingCall {
            confirmation: question.answer.clone().filter(|_| question.key.is_none()),
            credential: question.key.as_ref().map(|_| question.id.to_owned()),
            ..self.pending.clone()
        }
    }
}

impl Question<'_> {
    /// Returns whether the call waits for the answer.
    fn is_for(&self, call: &Call<'_>) -> bool {
        self.call == call.id || (self.key.is_some() && self.key == call.key)
    }

    /// Returns whether the answer is the credential that the call has asked for beside another one.
    // L118
    fn gives_credential_to(&self, call: &Call<'_>) -> bool {
        self.answer.is_some() && self.call != call.id && self.is_for(call)
    }
}

/// Returns from which event of a session on an invocation may have events: a fresh one has them behind the last one of another,
/// with summaries of its own between them.
pub(crate) fn first_event(events: &[Arc<Event>], invocation: &InvocationContext) -> usize {
    if invocation.engine().history().is_some() {
        return 0;
    }
    let is_other = |event: &Arc<Event>| {
        event.invocation_id() != invocation.invocation_id() && event.actions().compaction().is_none()
    };
    events.iter().rposition(is_other).map_or(0, |last| last + 1)
}

/// Returns whether an attempt of the run ended with the event.
pub(crate) fn is_failure(event: &Event) -> bool {
    event.error_code().is_some() && event.content().is_none() && !is_reported(event)
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
    let (call, key) = match call.name.as_deref()? {
        REQUEST_CONFIRMATION => (args?.get("originalFunctionCall")?.get("id")?.as_str()?, None),
        REQUEST_CREDENTIAL => {
            let config = args?.get("authConfig").cloned().unwrap_or_default();
            (args?.get("functionCallId")?.as_str()?, Some(credential_key(&AuthConfig::new(config))))
        }
        _ => return None,
    };
    Some(Question { id, call, key, answer: None })
}
