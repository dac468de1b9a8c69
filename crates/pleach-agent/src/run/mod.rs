//! [`AgentRun`]: one run of an agent, from its input to its last event.
// L80–L87, L134–L136

mod answer;
mod around;
mod batch;
mod call;
mod compact;
mod confirm;
mod delegate;
mod history;
mod model_call;
mod plan;
mod recorded;
mod request;
mod tools;
mod transfer;

use std::sync::Arc;

use pleach_context::engine::{Engine as _, PluginManager};
use pleach_context::telemetry::{OpenSpan, SpanEnd, invoke_agent};
use pleach_context::{AgentMode, Context, Flow, NodeError, NodeInput};
use pleach_core::{Content, Event};
use tracing::Instrument as _;

use crate::llm_agent::Declaration;
pub(crate) use around::Around;
pub(crate) use recorded::{CallNumbers, Next, Recorded, first_event};

/// One run of an agent.
pub(crate) struct AgentRun<'a> {
    agent: &'a Declaration,
    ctx: &'a Context,
    mode: AgentMode,
    input: NodeInput,
    /// The input of an agent that sees nothing else, as an event that is not stored.
    // L181
    input_event: Option<Arc<Event>>,
    /// The task of an agent that is a node, unless a call has delegated it.
    // L55
    task_input: Option<Content>,
    /// How many events the session had before the run.
    began_at: usize,
    /// What the agent has said so far.
    said: String,
    numbers: CallNumbers,
}

/// What a step leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEnd {
    /// The model is asked again.
    Continue,
    /// The agent is done.
    Done,
    /// The agent waits for an answer.
    Waiting,
}

impl<'a> AgentRun<'a> {
    pub(crate) fn new(agent: &'a Declaration, ctx: &'a Context, input: NodeInput) -> Self {
        let is_root = ctx.engine().parent().is_none_or(|parent| parent.node_path().is_root());
        let mode = agent.agent.mode_below(is_root);
        Self {
            agent,
            ctx,
            mode,
            input,
            input_event: None,
            task_input: None,
            began_at: 0,
            said: String::new(),
            numbers: CallNumbers::default(),
        }
    }

    /// Runs the agent, or continues it behind its last recorded event.
    pub(crate) async fn run(mut self) -> Result<Flow, NodeError> {
        let span = OpenSpan::new(invoke_agent(&self.agent.agent.name, &self.agent.agent.description, self.ctx));
        let ended = self.observed().instrument(span.span().clone()).await;
        match &ended {
            Ok(StepEnd::Waiting) => span.end(SpanEnd::Interrupted),
            Ok(_) => span.end(SpanEnd::Completed),
            Err(error) => {
                span.fail(error.code());
                self.around().on_error(error).await;
            }
        }
        ended.map(|_| Flow::Done(None))
    }

    async fn observed(&mut self) -> Result<StepEnd, NodeError> {
        let recorded = self.recorded();
        self.began_at = recorded.began_at;
        self.said = recorded.said;
        self.numbers = recorded.numbers;
        self.prepare_input()?;
        let around = self.around();
        if recorded.next == Next::Start
            && let Some(content) = around.before().await?
        {
            self.say(content, true).await?;
            return Ok(StepEnd::Done);
        }
        let is_resumable = self.ctx.invocation().is_resumable();
        // Only the mark of a resumable app shows whether an agent that has said its last has called its callbacks.
        let had_ended = match recorded.next {
            Next::Ended => recorded.is_marked || !is_resumable,
            Next::Transfer(..) => true,
            _ => false,
        };
        let mut end = self.steps(recorded.next).await?;
        if end == StepEnd::Done && self.ctx.engine().waits() {
            end = StepEnd::Waiting;
        }
        if !had_ended
            && end == StepEnd::Done
            && !self.ctx.engine().transfers()
            && !self.ctx.invocation().is_aborted()
            && let Some(content) = around.after().await?
        {
            self.say(content, false).await?;
        }
        if recorded.is_marked { Ok(end) } else { around.finish(end).await }
    }

    /// Returns whether the recorded events leave nothing to do.
    pub(crate) fn has_completed(&self) -> bool {
        let recorded = self.recorded();
        let is_marked = recorded.is_marked || !self.ctx.invocation().is_resumable();
        recorded.next == Next::Ended && is_marked && self.mode != AgentMode::Task
    }

    fn around(&self) -> Around<'a> {
        Around { agent: &self.agent.agent, callbacks: &self.agent.callbacks, ctx: self.ctx }
    }

    /// Continues with what the recorded events lead to, and then asks the model until it is done.
    async fn steps(&mut self, next: Next) -> Result<StepEnd, NodeError> {
        let mut end = match next {
            Next::Start | Next::AskModel => StepEnd::Continue,
            Next::Execute(calls, open) => match self.execute(calls).await? {
                StepEnd::Continue if !open.is_empty() => {
                    self.ctx.engine().add_interrupts(&open);
                    StepEnd::Waiting
                }
                end => end,
            },
            Next::Wait(open) => {
                self.ctx.engine().add_interrupts(&open);
                StepEnd::Waiting
            }
            Next::Say(answer) => self.say_answer(&answer).await?,
            Next::Transfer(target, place) => {
                self.ctx.engine().transfer_to(target.into(), place + 1);
                StepEnd::Done
            }
            Next::Ended => StepEnd::Done,
        };
        while end == StepEnd::Continue && !self.ctx.invocation().is_aborted() {
            end = self.step().await?;
        }
        Ok(end)
    }

    /// What the events of this run, recorded before, lead to.
    fn recorded(&self) -> Recorded {
        let engine = self.ctx.engine();
        Recorded::of(self.ctx, &engine.event_path(), &self.agent.agent.name, engine.since())
    }

    /// Stores what a callback says in the agent's name; `is_answer` stores it under the output key, too.
    // L135
    async fn say(&mut self, mut content: Content, is_answer: bool) -> Result<(), NodeError> {
        if content.role.is_none() {
            content.role = Some("model".into());
        }
        let mut event = Event::new().with_content(content);
        if is_answer {
            self.keep_answer(&mut event)?;
        } else {
            self.keep_addition(&mut event)?;
        }
        self.ctx.emit(event).await
    }

    fn plugins(&self) -> &'a PluginManager {
        &self.ctx.invocation().engine().services().plugins
    }
}
