//! [`Around`]: calls the plugins and callbacks before and after every run of an agent.
// L134–L136, L179

use pleach_context::engine::{LaneSetup, PluginManager, RunHandle};
use pleach_context::{AgentSpec, NodeError};
use pleach_core::{Content, Event, EventActions};

use super::{CallbackNote, Closing, StepEnd};
use crate::llm_agent::callbacks::Callbacks;

/// Calls the plugins and callbacks before and after a run of an agent.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) agent: &'a AgentSpec,
    pub(crate) callbacks: &'a Callbacks,
    pub(crate) handle: &'a RunHandle,
}

impl<'a> Around<'a> {
    /// Asks the plugins and callbacks for an answer. If one of them returns an answer, the agent does not run.
    pub(crate) async fn before(&self) -> Result<Option<Content>, NodeError> {
        let work = self.handle.work();
        let content = match self.plugins().before_agent(self.agent, self.handle).await? {
            Some(content) => Some(content),
            None => Callbacks::agent(&self.callbacks.before_agent, self.handle).await?,
        };
        drop(work);
        if content.is_none() && self.handle.has_pending_changes() {
            // L136
            self.handle.emit_noted(CallbackNote::Before.put_on(Event::new())).await?;
        }
        Ok(content)
    }

    /// Ends the agent: calls the `after_agent` plugins and callbacks if `calls` is set, and marks the end of the
    /// agent in a resumable app. Returns the event with the content and changes of the callbacks. It is stored after
    /// that mark.
    // L134, L179
    pub(crate) async fn finish(&self, end: StepEnd, closing: Closing, calls: bool) -> Result<Option<Event>, NodeError> {
        if end != StepEnd::Done || self.handle.invocation().is_aborted() {
            return Ok(None);
        }
        let addition = if calls { self.after().await? } else { None };
        if !closing.is_marked() && self.handle.invocation().is_resumable() {
            self.mark(addition.is_some()).await?;
        }
        Ok(addition)
    }

    async fn after(&self) -> Result<Option<Event>, NodeError> {
        let _work = self.handle.work();
        let content = match self.plugins().after_agent(self.agent, self.handle).await? {
            Some(content) => Some(content),
            None => Callbacks::agent(&self.callbacks.after_agent, self.handle).await?,
        };
        let event = match content {
            Some(mut content) => {
                content.role.get_or_insert_with(|| "model".into());
                Event::new().with_content(content)
            }
            None if self.handle.has_pending_changes() => Event::new(),
            None => return Ok(None),
        };
        Ok(Some(CallbackNote::After.put_on(event)))
    }

    /// Stores the mark that the agent is done. If `has_addition` is set, an event with the callbacks' changes follows
    /// the mark.
    async fn mark(&self, has_addition: bool) -> Result<(), NodeError> {
        let mut actions = EventActions::new();
        actions.set_end_of_agent(Some(true));
        let mark = Event::new().with_actions(actions);
        if !has_addition {
            return self.handle.emit(mark).await;
        }
        let lane = self.handle.lane(LaneSetup::default());
        lane.emit_noted(CallbackNote::After.put_on(mark)).await
    }

    /// Returns `true` if the agent has callbacks to call after it.
    pub(crate) fn has_callbacks_after(&self) -> bool {
        !self.callbacks.after_agent.is_empty()
    }

    /// Returns `true` if the app has plugins.
    pub(crate) fn has_plugins(&self) -> bool {
        !self.plugins().is_empty()
    }

    /// Notifies the plugins of a failure.
    pub(crate) async fn on_error(&self, error: &NodeError) {
        self.plugins().on_agent_error(self.agent, self.handle, error).await;
    }

    fn plugins(&self) -> &'a PluginManager {
        &self.handle.invocation().services().plugins
    }
}
