//! [`EventsSummarizer`]: the contract of summarizers.

use std::fmt;
use std::sync::Arc;

use pleach_core::{BoxError, BoxFuture, Content, Event, EventCompaction};

/// The result of a summarizer: the event with the summary, or `None` if there is nothing to summarise.
pub type Summary = Result<Option<Event>, BoxError>;

/// Summarises events. ADK: `BaseEventsSummarizer`.
#[doc(alias = "BaseEventsSummarizer")]
pub trait EventsSummarizer: fmt::Debug + Send + Sync + 'static {
    /// Summarises `events`, which are in order and never empty, in one event that has
    /// [`compaction`](pleach_core::EventActions::compaction) set; [`summary_event`] makes such an event.
    ///
    /// # Errors
    /// Any error. It is logged, and the history stays unchanged.
    ///
    /// # Cancel safety
    /// The future is dropped if the invocation is aborted or dropped; then nothing is stored.
    fn maybe_summarize_events<'a>(&'a self, events: &'a [Arc<Event>]) -> BoxFuture<'a, Summary>;
}

/// Returns the event that records `content` as the summary of `events`, or `None` if there are no events. The role of
/// the content becomes `model`.
#[must_use]
pub fn summary_event(events: &[Arc<Event>], mut content: Content) -> Option<Event> {
    content.role = Some("model".into());
    let mut event = Event::from_author("user");
    event.actions_mut().set_compaction(Some(EventCompaction {
        start_timestamp: events.first()?.timestamp(),
        end_timestamp: events.last()?.timestamp(),
        compacted_content: content,
    }));
    Some(event)
}
