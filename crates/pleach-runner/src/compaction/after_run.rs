//! Summarises the history at the end of an invocation.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use pleach_context::InvocationContext;
use pleach_context::engine::Engine as _;
use pleach_core::Event;
use pleach_session::effective_events;

use super::prompt::is_worth_it;
use super::tokens::above_threshold;
use super::window::sliding_window;
use super::{EventsCompactionConfig, EventsSummarizer};
use crate::RunError;
use crate::store::Store;

impl EventsCompactionConfig {
    /// Summarises the session's events if a trigger is reached, and stores the summary. The summary belongs to no run: plugins
    /// do not see it and callers do not receive it. Errors are logged, because the invocation itself has succeeded.
    pub(crate) async fn compact(&self, ic: &InvocationContext, store: &mut Store) {
        let Some(summarizer) = &self.summarizer else { return };
        let all = ic.events();
        let events: Vec<&Arc<Event>> =
            effective_events(&all).into_iter().filter(|event| event.isolation_scope().is_none()).collect();
        let mut summary = None;
        if let (Some(threshold), Some(retained)) = (self.token_threshold, self.event_retention_size) {
            summary = summarize(&**summarizer, &events, above_threshold(&events, threshold, retained)).await;
        }
        if let (Some(interval), Some(overlap), None) = (self.compaction_interval, self.overlap_size, &summary) {
            summary = summarize(&**summarizer, &events, sliding_window(&events, interval, overlap)).await;
        }
        if let Some(summary) = summary {
            put(ic, store, summary).await;
        }
    }
}

/// Returns a summary of `range`, unless it would not shorten the prompt.
async fn summarize(summarizer: &dyn EventsSummarizer, events: &[&Arc<Event>], range: Vec<Arc<Event>>) -> Option<Event> {
    if range.is_empty() || !is_worth_it(events, &range) {
        return None;
    }
    // The call may also panic before it returns a future.
    let asked = AssertUnwindSafe(async { summarizer.maybe_summarize_events(&range).await }).catch_unwind().await;
    match asked.unwrap_or_else(|_| Err("the summarizer panicked".into())) {
        Ok(Some(event)) if event.actions().compaction().is_none() || event.is_partial() => {
            tracing::warn!("the summarizer's event holds no summary: it is not stored");
            None
        }
        Ok(summary) => summary,
        Err(error) => {
            tracing::warn!(%error, "events could not be summed up: the history stays as it is");
            None
        }
    }
}

async fn put(ic: &InvocationContext, store: &mut Store, mut event: Event) {
    if event.invocation_id().is_empty() {
        event.set_invocation_id(format!("e-{}", ic.engine().services().ids.uuid()));
    }
    // A summary with an isolation scope would never be found.
    event.set_isolation_scope(None);
    store.stamp(ic.engine().services(), &mut event);
    let session = ic.session_key();
    match store.append(ic, Arc::new(event)).await {
        Ok(_) => {}
        Err(RunError::Session(error)) if error.is_stale() => {
            tracing::info!(%session, "a newer turn changed the session meanwhile: its summary is discarded");
        }
        Err(error) => tracing::warn!(%session, %error, "a summary could not be stored"),
    }
}
