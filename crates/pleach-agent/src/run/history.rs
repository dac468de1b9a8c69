//! The part of the session that is sent to the model.
// L40–L55, L181

use std::sync::Arc;

use pleach_context::{AgentMode, NodeError};
use pleach_core::{Content, Event, Part};
use pleach_model::SharedContent;

use super::AgentRun;
use crate::llm_agent::IncludeContents;
use crate::{ConversationView, conversation, current_turn, json_text};

fn text_of(value: &serde_json::Value) -> Result<String, NodeError> {
    json_text(value).map_err(|error| NodeError::validation(format!("the agent's input has no JSON form: {error}")))
}

impl AgentRun<'_> {
    /// Prepares the agent's input for the model: a task is set on the run, and other input becomes an event that is
    /// not stored.
    pub(super) fn prepare_input(&mut self) -> Result<(), NodeError> {
        let is_blank = || self.input.value().is_some_and(|value| value.as_str() == Some(""));
        // An agent that has received another agent's task by a transfer has the input of that task.
        let has_task = match self.mode {
            AgentMode::Task => true,
            AgentMode::Chat => self.works_on_given_task(),
            AgentMode::SingleTurn => false,
        };
        let has_none = self.mode == AgentMode::Chat && !has_task;
        if has_none || self.input.is_null() || (self.mode == AgentMode::SingleTurn && is_blank()) {
            return Ok(());
        }
        let mut content = match self.input.content() {
            Some(content) => content.clone(),
            None => match self.input.to_value() {
                serde_json::Value::String(text) => Content::user(text),
                value => Content::new("user", [Part::text(text_of(&value)?)]),
            },
        };
        content.role = Some("user".into());
        if has_task {
            self.handle.set_task(content);
            return Ok(());
        }
        let mut event = Event::from_author("user").with_content(content);
        event.set_invocation_id(self.handle.invocation().invocation_id().clone());
        event.set_path(self.handle.node_path().clone());
        event.set_branch(self.handle.branch());
        event.set_isolation_scope(self.handle.isolation_scope());
        self.input_event = Some(Arc::new(event));
        Ok(())
    }

    /// Returns `true` if the agent works on a task that was assigned to an agent above it. Returns `false` if that
    /// agent is the root, because the root's task is the user's message.
    fn works_on_given_task(&self) -> bool {
        let Some(scope) = self.handle.isolation_scope() else { return false };
        let mut run = Some(self.handle);
        while let Some(at) = run {
            let above = at.parent();
            if at.node_path().as_str() == &*scope {
                return !above.is_some_and(|above| above.node_path().is_root());
            }
            run = above;
        }
        true
    }

    /// Returns the contents to send to the model.
    pub(super) fn conversation(&self, pairs_calls_by_id: bool) -> Vec<SharedContent> {
        let include = self.agent.include_contents.unwrap_or(match self.mode {
            AgentMode::SingleTurn => IncludeContents::None,
            AgentMode::Chat | AgentMode::Task => IncludeContents::Default,
        });
        self.contents(include, pairs_calls_by_id)
    }

    /// Returns the contents of the part of the session that `include` selects, as the agent sees them.
    pub(super) fn contents(&self, include: IncludeContents, pairs_calls_by_id: bool) -> Vec<SharedContent> {
        let (branch, scope) = (self.handle.branch(), self.handle.isolation_scope());
        let part = self.handle.answers_for();
        let view = ConversationView {
            agent: &self.agent.agent.name,
            branch: branch.as_ref(),
            scope: scope.as_deref(),
            path: self.handle.node_path(),
            is_single_turn: self.is_single_turn || !part.is_empty(),
            part,
            task: self.handle.task(),
            user_content: self.handle.user_content(),
            thoughts_of_others: self.agent.thoughts_of_others,
            pairs_calls_by_id,
        };
        let read = |events: &[Arc<Event>]| match include {
            IncludeContents::Default => conversation(events, &view),
            IncludeContents::None => current_turn(events, &view),
        };
        self.handle.invocation().with_events(|events| {
            let Some(input) = &self.input_event else { return read(events) };
            let before = if include == IncludeContents::None { &[][..] } else { &events[..self.began_at] };
            let seen: Vec<_> =
                before.iter().chain(std::iter::once(input)).chain(&events[self.began_at..]).cloned().collect();
            read(&seen)
        })
    }
}
