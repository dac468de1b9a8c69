//! [`SqliteMemoryOptions`].

use std::time::Duration;

/// Settings of a [`SqliteMemoryService`](crate::SqliteMemoryService). The defaults are google-adk's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteMemoryOptions {
    pub(crate) busy_timeout: Duration,
    pub(crate) full_text: bool,
    pub(crate) max_results: u32,
    pub(crate) max_indexed_bytes: usize,
}

impl Default for SqliteMemoryOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(3), full_text: true, max_results: 50, max_indexed_bytes: 262_144 }
    }
}

impl SqliteMemoryOptions {
    /// Returns the defaults: a busy timeout of three seconds, full-text search, 50 results, and 256 KiB of searchable
    /// text per event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long to wait for other processes that hold the file's lock. After that, operations fail as `Locked`.
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Searches without the full-text index. Words then also match inside longer words, and every text is searched.
    ///
    /// If the file already has an index, it is still kept up to date.
    pub fn without_full_text(mut self) -> Self {
        self.full_text = false;
        self
    }

    /// Sets how many entries a search returns at most; at least one.
    pub fn with_max_results(mut self, results: u32) -> Self {
        self.max_results = results.max(1);
        self
    }

    /// Sets how many bytes of an event's text can be searched; at least one. The whole text is always stored and
    /// returned.
    pub fn with_max_indexed_bytes(mut self, bytes: usize) -> Self {
        self.max_indexed_bytes = bytes.max(1);
        self
    }
}
