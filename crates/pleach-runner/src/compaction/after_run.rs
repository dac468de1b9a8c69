//! Summarises the history at the end of an invocation.

use std::sync::Arc;

use pleach_context::engine::InvocationHandle;
use pleach_core::Event;
use pleach_session::effective_events;

use super::EventsCompactionConfig;
use super::prompt::{estimate, reported_tokens};
use super::summarize::summarize;
use super::tokens::all_but_newest;
use super::window::sliding_window;
use crate::RunError;
use crate::run::event_writer::EventWriter;

impl EventsCompactionConfig {
    /// Summarises the session's events if a trigger is reached, and stores the summary. Neither plugins nor callers
    /// receive the summary. Errors are logged, because the invocation itself has succeeded.
    pub(crate) async fn compact(&self, ic: &InvocationHandle, store: &mut EventWriter) {
        let Some(summarizer) = &self.summarizer else { return };
        let all = ic.events();
        let events: Vec<&Arc<Event>> =
            effective_events(&all).into_iter().filter(|event| event.isolation_scope().is_none()).collect();
        let mut summary = None;
        if let (Some(threshold), Some(retained)) = (self.token_threshold, self.event_retention_size)
            && reported_tokens(&events, None).or_else(|| estimate(&events)) >= Some(threshold)
        {
            summary = summarize(&**summarizer, &events, all_but_newest(&events, retained)).await;
        }
        if let (Some(interval), Some(overlap), None) = (self.compaction_interval, self.overlap_size, &summary) {
            summary = summarize(&**summarizer, &events, sliding_window(&events, interval, overlap)).await;
        }
        if let Some(summary) = summary {
            put(ic, store, summary).await;
        }
    }
}

async fn put(ic: &InvocationHandle, store: &mut EventWriter, mut summary: Event) {
    // Later compactions would not find a summary that has an isolation scope.
    summary.set_isolation_scope(None);
    let session = ic.session_key();
    match store.append_summary(ic, summary).await {
        Ok(_) => {}
        Err(RunError::Session(error)) if error.is_stale() => {
            tracing::info!(%session, "another writer changed the session at the same time: the summary is discarded");
        }
        Err(error) => tracing::warn!(%session, %error, "a summary could not be stored"),
    }
}
