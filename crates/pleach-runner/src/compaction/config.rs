//! When a history is summed up, and by whom.

use std::fmt;
use std::sync::Arc;

use pleach_core::{BoxError, BoxFuture, Content, Event, EventCompaction};
use pleach_workflow::Fault;

/// What a summarizer gives back: the event that holds the summary, or `None` when there is nothing to sum up.
pub type Summary = Result<Option<Event>, BoxError>;

/// Sums up events. ADK: `BaseEventsSummarizer`.
pub trait EventsSummarizer: fmt::Debug + Send + Sync + 'static {
    /// Sums up `events`, which are in order and never empty, into one event with
    /// [`compaction`](pleach_core::EventActions::compaction) set; [`summary_event`] makes it.
    ///
    /// # Errors
    /// Anything; it is logged, and the history stays as it is.
    ///
    /// # Cancel safety
    /// The future is dropped when the invocation is aborted or dropped; nothing is stored then.
    fn maybe_summarize_events<'a>(&'a self, events: &'a [Arc<Event>]) -> BoxFuture<'a, Summary>;
}

/// The event that says that `content` stands for `events`; `None` for no events. Its content's role becomes `model`.
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

/// When the events of a session are summed up: at the end of an invocation that was neither aborted nor failed.
///
/// One of the two triggers must be set, each with both of its fields; the one by tokens is asked first.
/// [`RunnerBuilder::build`](crate::RunnerBuilder::build) names what is missing.
///
/// ADK: `EventsCompactionConfig`.
// R1150
#[derive(Clone, Debug, Default)]
pub struct EventsCompactionConfig {
    /// Who sums up.
    pub summarizer: Option<Arc<dyn EventsSummarizer>>,
    /// After how many new invocations the history is summed up; at least one.
    pub compaction_interval: Option<usize>,
    /// How many invocations before the first new one a summary takes in again.
    pub overlap_size: Option<usize>,
    /// From how many tokens in the last prompt on the history is summed up; at least one.
    pub token_threshold: Option<u64>,
    /// How many of the newest events stay as they are when it is.
    pub event_retention_size: Option<usize>,
}

impl EventsCompactionConfig {
    /// A config with a summarizer and no trigger yet.
    pub fn new(summarizer: impl EventsSummarizer) -> Self {
        Self { summarizer: Some(Arc::new(summarizer)), ..Self::default() }
    }

    /// Sums up after every `compaction_interval` invocations, together with the last `overlap_size` ones before them.
    #[must_use]
    pub fn with_sliding_window(mut self, compaction_interval: usize, overlap_size: usize) -> Self {
        (self.compaction_interval, self.overlap_size) = (Some(compaction_interval), Some(overlap_size));
        self
    }

    /// Sums up when the last prompt had `token_threshold` tokens, all but the newest `event_retention_size` events.
    #[must_use]
    pub fn with_token_threshold(mut self, token_threshold: u64, event_retention_size: usize) -> Self {
        (self.token_threshold, self.event_retention_size) = (Some(token_threshold), Some(event_retention_size));
        self
    }

    /// What makes the config unusable.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let fault = |what: &str| Fault::value("events_compaction_config", what);
        let mut faults = Vec::new();
        if self.token_threshold.is_some() != self.event_retention_size.is_some() {
            faults.push(fault("token_threshold and event_retention_size must be set together."));
        }
        if self.compaction_interval.is_some() != self.overlap_size.is_some() {
            faults.push(fault("compaction_interval and overlap_size must be set together."));
        }
        if self.token_threshold.is_none() && self.compaction_interval.is_none() {
            faults.push(fault("events compaction needs a trigger: the token pair or the sliding window pair."));
        }
        if self.token_threshold == Some(0) {
            faults.push(fault("token_threshold must be greater than 0."));
        }
        if self.compaction_interval == Some(0) {
            faults.push(fault("compaction_interval must be greater than 0."));
        }
        if self.summarizer.is_none() {
            faults.push(fault("events compaction needs a summarizer."));
        }
        faults
    }
}
