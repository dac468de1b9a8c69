//! [`Around`]: what happens before and after every agent's run.
// L134–L136, L179

use pleach_context::engine::{Engine as _, PluginManager};
use pleach_context::{AgentSpec, Context, NodeError};
use pleach_core::{Content, Event, EventActions};

use super::{CallbackNote, StepEnd};
use crate::llm_agent::callbacks::Callbacks;

/// What happens before and after every agent's run.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) agent: &'a AgentSpec,
    pub(crate) callbacks: &'a Callbacks,
    pub(crate) ctx: &'a Context,
}

impl<'a> Around<'a> {
    /// Asks the plugins and callbacks for an answer of the agent, which does not run then.
    pub(crate) async fn before(&self) -> Result<Option<Content>, NodeError> {
        let content = match self.plugins().before_agent(self.agent, self.ctx).await? {
            Some(content) => Some(content),
            None => Callbacks::agent(&self.callbacks.before_agent, self.ctx).await?,
        };
        self.flushed(content, CallbackNote::Before).await
    }

    /// Asks the plugins and callbacks for what the agent says at its end.
    pub(crate) async fn after(&self) -> Result<Option<Content>, NodeError> {
        let content = match self.plugins().after_agent(self.agent, self.ctx).await? {
            Some(content) => Some(content),
            None => Callbacks::agent(&self.callbacks.after_agent, self.ctx).await?,
        };
        self.flushed(content, CallbackNote::After).await
    }

    /// Returns whether anything can be called behind the agent.
    pub(crate) fn has_after(&self) -> bool {
        !self.callbacks.after_agent.is_empty() || !self.plugins().is_empty()
    }

    /// Notifies the plugins of a failure.
    pub(crate) async fn on_error(&self, error: &NodeError) {
        self.plugins().on_agent_error(self.agent, self.ctx, error).await;
    }

    /// Stores that the agent is done, in a resumable app.
    // L179
    pub(crate) async fn finish(&self, end: StepEnd) -> Result<StepEnd, NodeError> {
        let is_done = end == StepEnd::Done && !self.ctx.invocation().is_aborted();
        if is_done && self.ctx.invocation().is_resumable() {
            let mut actions = EventActions::new();
            actions.set_end_of_agent(Some(true));
            self.ctx.emit(Event::new().with_actions(actions)).await?;
        }
        Ok(end)
    }

    /// Stores what callbacks have changed without saying anything in an event of its own.
    // L136
    async fn flushed(&self, content: Option<Content>, note: CallbackNote) -> Result<Option<Content>, NodeError> {
        if content.is_none() && self.ctx.engine().has_pending_changes() {
            self.ctx.emit(note.put_on(Event::new())).await?;
        }
        Ok(content)
    }

    fn plugins(&self) -> &'a PluginManager {
        &self.ctx.invocation().engine().services().plugins
    }
}
