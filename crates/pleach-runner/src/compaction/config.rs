//! [`EventsCompactionConfig`]: when a history is summarised, and by which summarizer.

use std::sync::Arc;

use pleach_session::EventsSummarizer;
use pleach_workflow::Fault;

/// When the events of a session are summarised.
///
/// There are two triggers: a sliding window of invocations, and a number of tokens. At least one of them must be set,
/// with both of its fields. Both are checked at the end of a successful invocation, the token trigger first. The token
/// trigger is also checked before each request of an agent to its model.
/// [`RunnerBuilder::build`](crate::RunnerBuilder::build) reports missing fields.
///
/// ADK: `EventsCompactionConfig`.
// R1150
#[derive(Clone, Debug, Default)]
pub struct EventsCompactionConfig {
    /// The summarizer.
    pub summarizer: Option<Arc<dyn EventsSummarizer>>,
    /// The number of new invocations that triggers a summary; at least one.
    pub compaction_interval: Option<usize>,
    /// The number of older invocations that a summary includes again, before the new ones.
    pub overlap_size: Option<usize>,
    /// The number of tokens in the last prompt that triggers a summary; at least one.
    pub token_threshold: Option<u64>,
    /// The number of newest events that a summary of the token trigger leaves out.
    pub event_retention_size: Option<usize>,
}

impl EventsCompactionConfig {
    /// Returns a config with a summarizer and no trigger.
    pub fn new(summarizer: impl EventsSummarizer) -> Self {
        Self { summarizer: Some(Arc::new(summarizer)), ..Self::default() }
    }

    /// Makes a summary after every `compaction_interval` invocations. The summary also covers the last `overlap_size`
    /// invocations before them.
    #[must_use]
    pub fn with_sliding_window(mut self, compaction_interval: usize, overlap_size: usize) -> Self {
        (self.compaction_interval, self.overlap_size) = (Some(compaction_interval), Some(overlap_size));
        self
    }

    /// Summarises all but the newest `event_retention_size` events when the last prompt reaches `token_threshold` tokens.
    #[must_use]
    pub fn with_token_threshold(mut self, token_threshold: u64, event_retention_size: usize) -> Self {
        (self.token_threshold, self.event_retention_size) = (Some(token_threshold), Some(event_retention_size));
        self
    }

    /// Returns the faults of the config.
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
