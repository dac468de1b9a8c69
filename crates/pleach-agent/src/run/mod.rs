//! [`AgentRun`]: one run of an agent, from its input to its last event.
//!
//! - `recorded.rs` selects the stored events of the run. `reader.rs` reads them and decides what the run does next
//!   (`next.rs`).
//! - `model_call.rs` is one step: it sends a request and handles the responses. `request.rs` builds the request,
//!   `history.rs` selects its conversation, and `tools.rs` declares its tools.
//! - `batch.rs` executes the calls of a response, each with `call.rs`. `delegate.rs` runs the agents that get a task,
//!   and `confirm.rs` asks people and clients.
//! - `answer.rs` stores the agent's answer; `around.rs` calls the hooks before and after the run.
// L80–L87, L134–L136

mod answer;
mod around;
mod batch;
mod call;
mod call_numbers;
mod callback_note;
mod closing;
mod code;
mod compact;
mod confirm;
mod delegate;
mod fragment_ids;
mod history;
mod model_call;
mod model_span;
mod model_wait;
mod next;
mod outages;
mod plan;
mod reader;
mod recorded;
mod recorded_call;
mod request;
mod together;
mod tools;
mod transfer;

use std::pin::pin;
use std::sync::Arc;

use pleach_context::engine::{PluginManager, RunHandle};
use pleach_context::telemetry::{OpenSpan, SpanEnd, invoke_agent};
use pleach_context::{AgentMode, Flow, NodeError, NodeInput};
use pleach_core::{Content, Event};

use crate::llm_agent::Declaration;
pub(crate) use around::Around;
pub(crate) use call_numbers::CallNumbers;
pub(crate) use callback_note::CallbackNote;
pub(crate) use closing::Closing;
pub(crate) use next::Next;
pub(crate) use outages::Outages;
pub(crate) use recorded::{Recorded, first_event, is_failure};

/// One run of an agent.
pub(crate) struct AgentRun<'a> {
    agent: &'a Declaration,
    handle: &'a RunHandle,
    mode: AgentMode,
    /// Whether the agent is declared to answer once, even if it converses within the run of a shell agent.
    is_single_turn: bool,
    input: NodeInput,
    /// The input as an event that is not stored, for an agent that answers once.
    // L181
    input_event: Option<Arc<Event>>,
    /// The number of events in the session before the run.
    began_at: usize,
    /// The text of the agent's answer so far.
    said: String,
    numbers: CallNumbers,
    /// The number of consecutive failures of the model's code.
    code_failures: u32,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEnd {
    /// The model is called again.
    Continue,
    /// The agent is done.
    Done,
    /// The agent has ended its task, and its caller continues.
    Finished,
    /// The agent asks the user something about its task.
    Asks,
    /// The agent waits for an answer.
    Waiting,
}

impl<'a> AgentRun<'a> {
    pub(crate) fn new(agent: &'a Declaration, handle: &'a RunHandle, input: NodeInput) -> Self {
        let is_root = handle.parent().is_none_or(|parent| parent.node_path().is_root());
        let declared = agent.agent.mode_below(is_root);
        let is_single_turn = declared == AgentMode::SingleTurn;
        // An agent within the run of a shell agent has no output of its own: it converses there.
        let converses = is_single_turn && handle.agent_within_run().is_some();
        let mode = match declared {
            AgentMode::SingleTurn if converses => AgentMode::Chat,
            AgentMode::Chat if !handle.answers_for().is_empty() => AgentMode::SingleTurn,
            declared => declared,
        };
        Self {
            agent,
            handle,
            mode,
            is_single_turn,
            input,
            input_event: None,
            began_at: 0,
            said: String::new(),
            numbers: CallNumbers::default(),
            code_failures: 0,
        }
    }

    /// Runs the agent, or continues it after its last recorded event.
    pub(crate) async fn run(&mut self) -> Result<Flow, NodeError> {
        let span = OpenSpan::new(invoke_agent(&self.agent.agent.name, &self.agent.agent.description, self.handle));
        let ended = span.around(pin!(self.observed())).await;
        match &ended {
            Ok(StepEnd::Waiting) => span.end(SpanEnd::Interrupted),
            Ok(_) => span.end(SpanEnd::Completed),
            Err(error) => {
                span.fail(error.code());
                // Changes by callbacks and tools in the failed step belong to events that will not be stored.
                self.handle.discard_changes();
                self.around().on_error(error).await;
            }
        }
        ended.map(|_| Flow::Done(None))
    }

    async fn observed(&mut self) -> Result<StepEnd, NodeError> {
        let recorded = self.recorded();
        self.began_at = self.first_event_of_turn().unwrap_or(recorded.began_at);
        self.said = recorded.said;
        self.numbers = recorded.numbers;
        self.code_failures = recorded.code_failures;
        self.handle.add_interrupts(&recorded.jobs);
        if let Some((target, place)) = recorded.transfer {
            self.handle.transfer_to(target.into(), place + 1);
        }
        if let Some(output) = recorded.output.filter(|_| matches!(recorded.next, Next::Said | Next::Ended)) {
            self.restore_output(output);
        }
        self.prepare_input()?;
        let around = self.around();
        if recorded.next == Next::Start
            && let Some(content) = around.before().await?
        {
            self.say(content).await?;
            return Ok(StepEnd::Done);
        }
        let has_called = match recorded.next {
            Next::Said | Next::Ended => recorded.closing.has_called(),
            Next::Transfer => true,
            _ => false,
        };
        let asks = self.mode == AgentMode::Task && recorded.next == Next::Said && !recorded.closing.is_marked();
        let mut end = if asks { StepEnd::Waiting } else { self.steps(recorded.next).await? };
        if end == StepEnd::Asks || (end == StepEnd::Done && self.handle.waits()) {
            end = StepEnd::Waiting;
        }
        let calls = !has_called && !self.handle.transfers();
        if let Some(mut addition) = around.finish(end, recorded.closing, calls).await? {
            self.keep_addition(&mut addition)?;
            self.handle.emit_noted(addition).await?;
        }
        Ok(end)
    }

    /// Returns `true` if the recorded events leave nothing to do.
    pub(crate) fn has_completed(&self) -> bool {
        let recorded = self.recorded();
        if !recorded.jobs.is_empty() {
            return false;
        }
        if recorded.next == Next::Transfer {
            return true;
        }
        if !matches!(recorded.next, Next::Said | Next::Ended) || self.mode == AgentMode::Task {
            return false;
        }
        match recorded.closing {
            Closing::Closed => true,
            Closing::EndMarked => false,
            Closing::CallbacksCalled => !self.handle.invocation().is_resumable(),
            Closing::Open => !self.handle.invocation().is_resumable() && self.needs_nothing_after(),
        }
    }

    /// Returns `true` if no hook has to be called after the agent. A resume calls the plugins' hooks, possibly again.
    /// A replay that only looks for the recorded result treats the agent as done, because most hooks of plugins leave
    /// no event.
    fn needs_nothing_after(&self) -> bool {
        let around = self.around();
        if around.has_callbacks_after() {
            return false;
        }
        if !around.has_plugins() {
            return true;
        }
        let gate = self.handle.invocation().work_gate();
        let assumes_end = gate.replays_only();
        if assumes_end {
            gate.note_assumed_end();
        }
        assumes_end
    }

    fn around(&self) -> Around<'a> {
        Around { agent: &self.agent.agent, callbacks: &self.agent.callbacks, handle: self.handle }
    }

    /// Takes the next step after the recorded events, then calls the model until the agent is done.
    async fn steps(&mut self, next: Next) -> Result<StepEnd, NodeError> {
        let mut end = match next {
            Next::Start | Next::AskModel => StepEnd::Continue,
            Next::Execute(calls, open) => {
                self.handle.add_interrupts(&open);
                match self.execute(calls).await? {
                    StepEnd::Continue if !open.is_empty() => StepEnd::Waiting,
                    end => end,
                }
            }
            Next::Wait(open) => {
                self.handle.add_interrupts(&open);
                StepEnd::Waiting
            }
            Next::ExecuteCode(code) => {
                self.execute_code(&code).await?;
                StepEnd::Continue
            }
            Next::Say(answer) => self.say_answer(&answer).await?,
            Next::Transfer | Next::Said | Next::Ended => StepEnd::Done,
        };
        while end == StepEnd::Continue && !self.handle.invocation().is_aborted() {
            end = self.step().await?;
        }
        Ok(end)
    }

    /// Returns the index of the first event of the graph node that the agent answers for.
    fn first_event_of_turn(&self) -> Option<usize> {
        let first = self.handle.answers_for().first()?;
        let invocation = self.handle.invocation();
        invocation.with_events(|events| {
            let of_invocation = events.iter().enumerate().skip(first_event(events, invocation));
            let mut own = of_invocation.filter(|(_, event)| event.invocation_id() == invocation.invocation_id());
            own.find(|(_, event)| event.path() == first).map(|(place, _)| place)
        })
    }

    /// Reads the recorded events of this run and decides how it continues.
    fn recorded(&self) -> Recorded {
        let mut recorded =
            Recorded::of(self.handle, &self.handle.event_path(), &self.agent.agent.name, self.handle.since());
        let attempts = self.agent.code_executor.as_ref().map_or(0, |executor| executor.error_retry_attempts());
        if matches!(recorded.next, Next::ExecuteCode(_)) && recorded.code_failures >= attempts {
            recorded.next = Next::Said;
        }
        recorded
    }

    /// Stores the content that a callback has returned in place of the agent's answer.
    // L135
    async fn say(&mut self, mut content: Content) -> Result<(), NodeError> {
        content.role.get_or_insert_with(|| "model".into());
        let mut event = CallbackNote::Before.put_on(Event::new().with_content(content));
        self.keep_answer(&mut event)?;
        self.handle.emit_noted(event).await
    }

    fn plugins(&self) -> &'a PluginManager {
        &self.handle.invocation().services().plugins
    }
}
