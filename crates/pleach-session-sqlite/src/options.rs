//! [`SqliteOptions`].

use std::time::Duration;

use crate::layout::SqliteLayout;

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Once the disk has it: a stored event survives a power cut.
    #[default]
    Full,
    /// Once the operating system has it: a stored event survives the process, and a power cut may take the newest
    /// ones. Several times faster for a lone writer.
    Normal,
}

/// Settings of an [`SqliteSessionService`](crate::SqliteSessionService).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    pub(crate) busy_timeout: Duration,
    pub(crate) synchronous: Synchronous,
    pub(crate) read_connections: u32,
    pub(crate) layout: SqliteLayout,
    pub(crate) create_if_missing: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(10),
            synchronous: Synchronous::Full,
            read_connections: 4,
            layout: SqliteLayout::Lite,
            create_if_missing: true,
        }
    }
}

impl SqliteOptions {
    /// A busy timeout of ten seconds, full durability, four read connections, the lite layout for a new file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long to wait for other processes that hold the file's lock before failing as `Locked`.
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// When a commit counts as done.
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets the layout of a new file; the layout of an existing file does not change.
    pub fn with_layout(mut self, layout: SqliteLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets whether a missing file is created; if not, opening it fails as `Unavailable`. On by default.
    pub fn with_create_if_missing(mut self, create: bool) -> Self {
        self.create_if_missing = create;
        self
    }

    /// Sets how many loads and listings run at the same time; at least one.
    pub fn with_read_connections(mut self, connections: u32) -> Self {
        self.read_connections = connections.max(1);
        self
    }
}
