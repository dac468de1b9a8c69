//! Summarises the history before a request of an agent to its model.

use std::sync::Arc;

use pleach_context::engine::{Prompt, PromptCompaction};
use pleach_core::{BoxFuture, Event, NodePath};
use pleach_session::effective_events;

use super::EventsCompactionConfig;
use super::prompt::reported_tokens;
use super::summarize::summarize;
use super::tokens::all_but_newest;

impl PromptCompaction for EventsCompactionConfig {
    fn before_prompt<'a>(&'a self, events: &'a [Arc<Event>], prompt: Prompt<'a>) -> BoxFuture<'a, Option<Event>> {
        Box::pin(async move {
            let (Some(summarizer), Some(threshold), Some(retained)) =
                (&self.summarizer, self.token_threshold, self.event_retention_size)
            else {
                return None;
            };
            let own = |event: &&Arc<Event>| event.isolation_scope() == prompt.scope;
            let events: Vec<&Arc<Event>> = effective_events(events).into_iter().filter(own).collect();
            if reported_tokens(&events, Some(prompt.agent)).or_else(prompt.estimate) < Some(threshold) {
                return None;
            }
            let mut summary = summarize(&**summarizer, &events, all_but_newest(&events, retained)).await?;
            // All prompts of the scope use the summary. It has no path, because no node has emitted it.
            summary.set_isolation_scope(prompt.scope.map(Into::into));
            summary.set_path(NodePath::default());
            Some(summary)
        })
    }
}
