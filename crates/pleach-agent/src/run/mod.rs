//! [`AgentRun`]: one run of an agent, from its input to its last event.
// L80–L87, L134–L136

mod answer;
mod batch;
mod confirm;
mod history;
mod model_call;
mod recorded;
mod request;
mod tools;
mod transfer;

use std::sync::Arc;

use pleach_context::engine::{Engine as _, PluginManager};
use pleach_context::telemetry::{OpenSpan, SpanEnd, invoke_agent};
use pleach_context::{AgentMode, Context, Flow, NodeError, NodeInput};
use pleach_core::{Content, Event, EventActions};
use tracing::Instrument as _;

use crate::llm_agent::Inner;
use crate::llm_agent::callbacks::Callbacks;
use recorded::{Next, Recorded};

/// One run of an agent.
pub(crate) struct AgentRun<'a> {
    agent: &'a Inner,
    ctx: &'a Context,
    mode: AgentMode,
    input: NodeInput,
    /// The input of an agent that sees nothing else, as an event that is not stored.
    // L181
    input_event: Option<Arc<Event>>,
    /// How many events the session had before the run.
    began_at: usize,
    /// What the agent has said so far.
    said: String,
}

/// What a step leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepEnd {
    /// The model is asked again.
    Continue,
    /// The agent is done.
    Done,
    /// The agent waits for an answer.
    Waiting,
}

impl<'a> AgentRun<'a> {
    pub(crate) fn new(agent: &'a Inner, ctx: &'a Context, input: NodeInput) -> Self {
        let is_root = ctx.engine().parent().is_none_or(|parent| parent.node_path().is_root());
        let mode = agent.agent.mode_below(is_root);
        Self { agent, ctx, mode, input, input_event: None, began_at: 0, said: String::new() }
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
                self.plugins().on_agent_error(&self.agent.agent, self.ctx, error).await;
            }
        }
        ended.map(|_| Flow::Done(None))
    }

    async fn observed(&mut self) -> Result<StepEnd, NodeError> {
        let recorded = self.recorded();
        self.began_at = recorded.began_at;
        self.said = recorded.said;
        self.prepare_input()?;
        if recorded.next == Next::Start
            && let Some(content) = self.before_agent().await?
        {
            self.say(content).await?;
            return self.finish(StepEnd::Done).await;
        }
        let end = self.steps(recorded.next).await?;
        if end == StepEnd::Done
            && !self.ctx.invocation().is_aborted()
            && let Some(content) = self.after_agent().await?
        {
            self.say(content).await?;
        }
        self.finish(end).await
    }

    /// Continues with what the recorded events lead to, and then asks the model until it is done.
    async fn steps(&mut self, next: Next) -> Result<StepEnd, NodeError> {
        let mut end = match next {
            Next::Start | Next::AskModel => StepEnd::Continue,
            Next::Execute(calls) => self.execute(calls).await?,
            Next::Wait(open) => {
                self.ctx.engine().add_interrupts(&open);
                StepEnd::Waiting
            }
            Next::Ended => return Ok(StepEnd::Done),
        };
        while end == StepEnd::Continue && !self.ctx.invocation().is_aborted() {
            end = self.step().await?;
        }
        Ok(end)
    }

    /// What the events of this run, recorded before, lead to.
    fn recorded(&self) -> Recorded {
        let ic = self.ctx.invocation();
        let is_resumed = ic.engine().history().is_some();
        ic.engine().with_events(|events| match is_resumed {
            true => Recorded::read(events, ic.invocation_id(), self.ctx.node_path(), &self.agent.agent.name),
            false => Recorded::none(events.len()),
        })
    }

    async fn before_agent(&self) -> Result<Option<Content>, NodeError> {
        let content = match self.plugins().before_agent(&self.agent.agent, self.ctx).await? {
            Some(content) => Some(content),
            None => Callbacks::agent(&self.agent.callbacks.before_agent, self.ctx).await?,
        };
        if content.is_none() {
            self.flush_state().await?;
        }
        Ok(content)
    }

    async fn after_agent(&self) -> Result<Option<Content>, NodeError> {
        let content = match self.plugins().after_agent(&self.agent.agent, self.ctx).await? {
            Some(content) => Some(content),
            None => Callbacks::agent(&self.agent.callbacks.after_agent, self.ctx).await?,
        };
        if content.is_none() {
            self.flush_state().await?;
        }
        Ok(content)
    }

    /// Stores what callbacks have changed in an event of its own.
    // L136
    async fn flush_state(&self) -> Result<(), NodeError> {
        if self.ctx.engine().has_pending_changes() { self.ctx.emit(Event::new()).await } else { Ok(()) }
    }

    /// Stores what a callback says in the agent's name.
    // L135
    async fn say(&mut self, mut content: Content) -> Result<(), NodeError> {
        if content.role.is_none() {
            content.role = Some("model".into());
        }
        let mut event = Event::new().with_content(content);
        self.keep_answer(&mut event)?;
        self.ctx.emit(event).await
    }

    /// Stores that the agent is done, in a resumable app.
    // L179
    async fn finish(&self, end: StepEnd) -> Result<StepEnd, NodeError> {
        let is_done = end == StepEnd::Done && !self.ctx.invocation().is_aborted();
        if is_done && self.ctx.invocation().is_resumable() && self.mode == AgentMode::Chat {
            let mut actions = EventActions::new();
            actions.set_end_of_agent(Some(true));
            self.ctx.emit(Event::new().with_actions(actions)).await?;
        }
        Ok(end)
    }

    fn plugins(&self) -> &'a PluginManager {
        &self.ctx.invocation().engine().services().plugins
    }
}
