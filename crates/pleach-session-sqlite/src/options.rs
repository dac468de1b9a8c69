//! [`SqliteOptions`].

use std::time::Duration;

use crate::layout::SqliteLayout;

/// The point at which a commit is reported as complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// The disk has the data, so a stored event survives a power cut.
    #[default]
    Full,
    /// The operating system has the data, so a stored event survives the end of the process. A power cut may lose
    /// the newest events. Several times faster than `Full` for a single writer.
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
    /// Returns the defaults: a busy timeout of ten seconds, full durability, four read connections, and the lite layout
    /// for a new file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long to wait for other processes that hold the file's lock. After that, operations fail as `Locked`.
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets the point at which a commit is reported as complete.
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets the layout of a new file. An existing file keeps its layout.
    pub fn with_layout(mut self, layout: SqliteLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets whether a missing file is created. If not, opening it fails as `Unavailable`. The default is `true`.
    pub fn with_create_if_missing(mut self, create: bool) -> Self {
        self.create_if_missing = create;
        self
    }

    /// Sets how many loads and listings may run at the same time; at least one.
    pub fn with_read_connections(mut self, connections: u32) -> Self {
        self.read_connections = connections.max(1);
        self
    }
}
