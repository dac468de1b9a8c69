//! Asks a summarizer for a summary of some events.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use pleach_core::Event;
use pleach_session::EventsSummarizer;

use super::prompt::is_worth_it;

/// Returns a summary of `range`, or `None` if it would not shorten the prompt.
pub(super) async fn summarize(
    summarizer: &dyn EventsSummarizer,
    events: &[&Arc<Event>],
    range: Vec<Arc<Event>>,
) -> Option<Event> {
    if range.is_empty() || !is_worth_it(events, &range) {
        return None;
    }
    // The call may also panic before it returns a future.
    let asked = AssertUnwindSafe(async { summarizer.maybe_summarize_events(&range).await }).catch_unwind().await;
    match asked.unwrap_or_else(|_| Err("the summarizer panicked".into())) {
        Ok(Some(event)) if event.actions().compaction().is_none() || event.is_partial() => {
            tracing::warn!("the summarizer returned an event that is partial or has no summary: it is not stored");
            None
        }
        Ok(summary) => summary,
        Err(error) => {
            tracing::warn!(%error, "events could not be summarised: the history stays as it is");
            None
        }
    }
}
