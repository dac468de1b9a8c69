//! [`Reader`]: reads the events of a run one by one and decides what the run does next.
// L117–L120

use pleach_context::engine::{caller_of_task, credential_key};
use pleach_core::{Event, FunctionCall, FunctionResponse, NodePath};
use pleach_schema::unwrap_response;
use serde_json::Value;

use super::call_numbers::{CallNumbers, PendingCall};
use super::next::Next;
use super::recorded_call::{Question, RecordedCall, question};
use super::{CallbackNote, Closing};
use crate::code::is_failed;

/// Reads the events of a run one by one.
#[derive(Debug, Default)]
pub(super) struct Reader<'e> {
    pub(super) numbers: CallNumbers,
    calls: Vec<RecordedCall<'e>>,
    /// The number of call batches that the model has sent.
    batches: usize,
    /// The batches that have received answers since the agent's last event.
    answered: Vec<usize>,
    questions: Vec<Question<'e>>,
    pub(super) said: String,
    began: bool,
    /// Whether a callback has answered in place of the agent.
    is_answered: bool,
    pub(super) closing: Closing,
    /// Whether a message of the user follows the agent's last event.
    turn_ended: bool,
    /// Whether the end of a failed attempt follows the agent's last event.
    pub(super) has_failed: bool,
    pub(super) transfer: Option<(&'e str, usize)>,
    /// Whether a task ended after the model asked for a transfer. The model is then called once more before the
    /// transfer.
    asks_behind_transfer: bool,
    pub(super) code_failures: u32,
    last: Last,
}

/// The kind of the last event that affects the next step.
#[derive(Clone, Debug, Default, PartialEq)]
enum Last {
    #[default]
    Nothing,
    Calls,
    Responses {
        is_final: bool,
    },
    /// An answer that the model has returned with a call, and that is not stored as text yet.
    Given(Value),
    /// The result of a task, if no answer came before it.
    TaskResponse,
    Answer,
    /// Code of the model.
    Code(String),
    /// The output of the code.
    CodeOutput,
    Message,
}

/// The run whose events are read.
#[derive(Clone, Copy)]
pub(super) struct Run<'r> {
    pub(super) path: &'r NodePath,
    pub(super) agent: &'r str,
    /// The isolation scope of the run.
    pub(super) scope: Option<&'r str>,
}

impl Run<'_> {
    pub(super) fn has_given(self, event: &Event) -> bool {
        event.path() == self.path && event.author() == self.agent
    }
}

impl<'e> Reader<'e> {
    /// Numbers the calls of an event of an earlier run of the agent at the same path.
    pub(super) fn number_calls(&mut self, event: &'e Event) {
        for call in event.function_calls().filter(|call| question(event, call).is_none()) {
            self.numbers.number(call);
        }
    }

    pub(super) fn take_own(&mut self, event: &'e Event, place: usize) {
        self.began = true;
        (self.turn_ended, self.has_failed) = (false, false);
        self.answered.clear();
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
            self.take_words(event);
        }
    }

    fn take_words(&mut self, event: &'e Event) {
        let last = event.content().and_then(|content| content.parts().last());
        let code = last.and_then(|part| part.executable_code.as_ref()?.code.clone());
        let output = last.and_then(|part| part.code_execution_result.as_deref());
        self.last = match (code, output) {
            (Some(code), _) => Last::Code(code),
            (None, Some(output)) => {
                self.code_failures = if is_failed(output) { self.code_failures + 1 } else { 0 };
                Last::CodeOutput
            }
            (None, None) => Last::Message,
        };
    }

    fn take_calls(&mut self, event: &'e Event, calls: impl Iterator<Item = &'e FunctionCall>) {
        let long_running = event.long_running_tool_ids();
        let mut is_batch = false;
        for call in calls {
            let id = call.id.as_deref().unwrap_or_default();
            if let Some(question) = question(event, call) {
                self.questions.push(question);
                continue;
            }
            if !std::mem::replace(&mut is_batch, true) {
                // The result of a long-running call, or the answer to a question that the user has passed over, may
                // come much later.
                self.questions.retain(|question| question.is_passed_over && question.answer.is_none());
                let questions = &self.questions;
                self.calls.retain(|call| call.is_job() || questions.iter().any(|question| question.call == call.id));
                self.calls.iter_mut().for_each(|call| call.is_earlier = true);
                self.batches += 1;
            }
            self.calls.push(RecordedCall {
                pending: self.numbers.number(call),
                id,
                is_long_running: long_running.is_some_and(|ids| ids.contains(id)),
                is_earlier: false,
                batch: self.batches,
                has_response: false,
                has_result: false,
                asks: false,
                key: None,
                given: Vec::new(),
            });
        }
        if is_batch {
            self.last = Last::Calls;
        }
    }

    fn take_responses(
        &mut self,
        event: &'e Event,
        responses: impl Iterator<Item = &'e FunctionResponse>,
        place: usize,
    ) {
        let actions = event.actions();
        for response in responses {
            let id = response.id.as_deref().unwrap_or_default();
            let key = actions.requested_auth_configs().get(id).map(credential_key);
            let asks = key.is_some() || actions.requested_tool_confirmations().contains_key(id);
            let answered = self.questions.iter().position(|asked| asked.call == id && asked.answer.is_some());
            let answered = answered.map(|at| self.questions.remove(at));
            if let Some(call) = self.calls.iter_mut().find(|call| call.id == id && (!call.has_response || call.asks)) {
                (call.has_response, call.asks, call.key) = (true, asks, key);
                call.given.extend(answered);
            }
        }
        if let Some(target) = actions.transfer_to_agent() {
            (self.transfer, self.asks_behind_transfer) = (Some((target, place)), false);
        }
        self.last = match actions.set_model_response() {
            Some(answer) => Last::Given(answer.clone()),
            None => Last::Responses { is_final: actions.skip_summarization() == Some(true) },
        };
    }

    /// Reads an event in the user's name: the result of a task, or a message of a client.
    pub(super) fn take_from_user(&mut self, event: &'e Event, run: Run<'_>) {
        if let Some(caller) = caller_of_task(event) {
            if caller == run.agent && !self.has_transferred() {
                self.take_task_response(event);
            }
            return;
        }
        // A refused transfer is over: the next message of the user goes to the model.
        if self.has_transferred() && !self.has_failed {
            self.take_results(event);
            return;
        }
        self.end_turn();
        self.take_answers(event);
        let is_message = event.function_responses().next().is_none();
        if is_message && run.scope.is_some() && event.isolation_scope() == run.scope {
            self.take_message();
        }
    }

    /// Reads a client's answers to questions and its results of long-running calls.
    // L150
    fn take_answers(&mut self, event: &'e Event) {
        for response in event.function_responses() {
            let id = response.id.as_deref().unwrap_or_default();
            let mut batch = self.take_result(id);
            for question in self.questions.iter_mut().filter(|question| question.id == id) {
                question.answer = Some(response.response.as_ref().map(unwrap_response).unwrap_or_default());
                batch = Some(self.batches);
            }
            if let Some(batch) = batch {
                self.last = Last::Answer;
                self.answered.push(batch);
                self.said.clear();
            }
        }
    }

    /// Reads the results of long-running calls. After a transfer, only these matter.
    fn take_results(&mut self, event: &Event) {
        for response in event.function_responses() {
            self.take_result(response.id.as_deref().unwrap_or_default());
        }
    }

    /// Records that a call has its result. Returns the batch of the call, if the run has made the call.
    fn take_result(&mut self, id: &str) -> Option<usize> {
        let mut batch = None;
        for call in self.calls.iter_mut().filter(|call| call.id == id) {
            (call.has_response, call.has_result) = (true, true);
            batch = Some(call.batch);
        }
        batch
    }

    /// Reads the result of a task. Text after it starts a new answer.
    fn take_task_response(&mut self, event: &'e Event) {
        for response in event.function_responses() {
            let id = response.id.as_deref().unwrap_or_default();
            // If several calls have the same id, the first result belongs to the first of them.
            let Some(call) = self.calls.iter_mut().find(|call| call.id == id && !call.has_response) else { continue };
            (call.has_response, call.has_result) = (true, true);
            self.asks_behind_transfer = self.transfer.is_some();
            if self.last != Last::Answer {
                self.last = Last::TaskResponse;
            }
            self.said.clear();
        }
    }

    /// Reads a message of the user about the agent's task. The model is called, even if the agent waits for answers
    /// or results. Those are read when they arrive.
    // L191
    fn take_message(&mut self) {
        if self.has_failed {
            // Calls and questions of the failed attempt are dropped. Only long-running calls that have begun may
            // still end.
            self.calls.retain(|call| call.is_long_running && call.has_response && !call.has_result);
            self.calls.iter_mut().for_each(|call| call.is_earlier = false);
            self.questions.clear();
            (self.has_failed, self.transfer, self.last) = (false, None, Last::Answer);
        } else if self.is_answered {
            // The `before_agent` callbacks are called for each message.
            *self = Self { numbers: std::mem::take(&mut self.numbers), ..Self::default() };
        } else if !matches!(self.last, Last::Nothing | Last::Given(_)) {
            self.questions.iter_mut().for_each(|question| question.is_passed_over = true);
            self.calls.iter_mut().filter(|call| call.is_job()).for_each(|call| call.is_earlier = true);
            self.closing = Closing::Open;
            self.said.clear();
            self.last = Last::Answer;
        }
    }

    /// Records the end of a turn. A message of the user arrives after everything before it has ended.
    fn end_turn(&mut self) {
        self.turn_ended = true;
        let has_ended = match self.last {
            Last::Message | Last::Code(_) => true,
            Last::Responses { is_final } => is_final && self.open().is_empty(),
            _ => false,
        };
        if has_ended {
            self.closing.take_message();
            self.said.clear();
        }
    }

    pub(super) fn next(&self) -> Next {
        if !self.began {
            return Next::Start;
        }
        if self.has_transferred() {
            return Next::Transfer;
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
            Last::Code(code) => Next::ExecuteCode(code.clone()),
            Last::Nothing
            | Last::Calls
            | Last::TaskResponse
            | Last::Answer
            | Last::CodeOutput
            | Last::Responses { is_final: false } => Next::AskModel,
            Last::Message => Next::Said,
            Last::Responses { is_final: true } => Next::Ended,
        }
    }

    /// Returns `true` if the run has transferred and nothing is left to do before the transfer. Tasks and questions
    /// of the same batch may end after the transfer is stored.
    pub(super) fn has_transferred(&self) -> bool {
        let is_missing =
            |call: &RecordedCall<'_>| !call.is_earlier && (call.asks || (!call.has_response && !call.is_long_running));
        let holds_back = |question: &Question<'_>| question.answer.is_some() || question.is_open();
        let is_open = || self.questions.iter().any(holds_back) || self.calls.iter().any(is_missing);
        let has_said = || matches!(self.last, Last::Message | Last::Responses { is_final: true });
        self.transfer.is_some() && !is_open() && (!self.asks_behind_transfer || has_said())
    }

    /// Returns the ids of the open questions, and of the long-running calls without a result that the agent waits for.
    fn open(&self) -> Vec<String> {
        let asks = self.questions.iter().filter(|question| question.is_open()).map(|question| question.id);
        let waits = |call: &&RecordedCall<'_>| match self.last {
            // The model is called with the responses so far.
            Last::Responses { .. } | Last::Given(_) | Last::TaskResponse => !call.has_response && !call.is_earlier,
            Last::Answer => self.holds_back(call),
            Last::Message | Last::Code(_) | Last::CodeOutput => true,
            Last::Calls | Last::Nothing => self.has_begun(),
        };
        let runs = self.jobs().filter(waits);
        asks.chain(runs.map(|call| call.id)).map(str::to_owned).collect()
    }

    /// Returns `true` if the model is not called before this long-running call has its result. If an answer belongs
    /// to a batch, the batch must be answered as a whole.
    fn holds_back(&self, job: &RecordedCall<'_>) -> bool {
        let is_whole = |batch: &usize| !self.jobs().any(|job| job.batch == *batch);
        match self.answered.as_slice() {
            [] => !job.is_earlier,
            answered => answered.contains(&job.batch) && !answered.iter().any(is_whole),
        }
    }

    /// Returns the long-running calls without a result.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &RecordedCall<'e>> {
        self.calls.iter().filter(|call| call.is_job())
    }

    /// Returns `true` if all calls of the batch have begun: the run has paused after them, or no response is missing.
    fn has_begun(&self) -> bool {
        (self.turn_ended && !self.has_failed) || !self.is_cut()
    }

    /// Returns `true` if the batch may have been cut off before all its responses were stored. Responses are stored
    /// together, except those of calls that ended before another call failed. A long-running call without a response
    /// leaves no trace that it has started, so it starts again, unless the run has paused after the start.
    fn is_cut(&self) -> bool {
        let waits = |call: &RecordedCall<'_>| call.is_long_running || call.pending.ends_agent();
        let is_missing = |call: &RecordedCall<'_>| match self.last {
            Last::Calls => !call.has_response && (!call.is_long_running || !self.turn_ended),
            Last::Responses { .. } => !call.has_response && !waits(call) && !self.turn_ended,
            _ => false,
        };
        self.has_failed || self.calls.iter().filter(|call| !call.is_earlier).any(is_missing)
    }

    /// Returns the calls to execute, in order: the calls without a response and, if nothing is open, the calls whose
    /// questions are answered.
    fn to_execute(&self, is_closed: bool) -> Vec<PendingCall> {
        let mut answers: Vec<&Question<'_>> = self.questions.iter().filter(|asked| asked.answer.is_some()).collect();
        let is_asked = |call: &RecordedCall<'_>| self.questions.iter().any(|asked| asked.is_for(call));
        let mut calls = Vec::new();
        for call in &self.calls {
            let answer = answers.iter().position(|asked| asked.call == call.id).map(|at| answers.remove(at));
            if call.is_earlier && answer.is_none() {
                continue;
            }
            match answer {
                Some(answer) if is_closed => calls.push(call.answered(answer)),
                Some(_) => {}
                // Another call has asked for the credential.
                None if is_closed && self.questions.iter().any(|asked| asked.gives_credential_to(call)) => {
                    calls.push(call.again());
                }
                // The run was cut off after the response and before its question.
                None if call.asks && !is_asked(call) => {
                    calls.push(PendingCall { is_placed: true, ..call.again() });
                }
                None if call.has_response => {}
                None if is_asked(call) => {
                    calls.push(PendingCall { is_asked: true, ..call.pending.clone() });
                }
                None if call.is_long_running && self.has_begun() => {}
                // Calls that end the agent wait for the answers.
                None if !is_closed && call.pending.ends_agent() => {}
                None => calls.push(call.pending.clone()),
            }
        }
        calls
    }
}
