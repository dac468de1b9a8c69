//! [`PostgresOptions`].

use std::time::Duration;

/// Settings of a [`PostgresSessionService`](crate::PostgresSessionService).
///
/// Durability depends on the server: `synchronous_commit` is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    pub(crate) connections: u32,
    pub(crate) acquire_timeout: Duration,
    pub(crate) read_only: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { connections: 16, acquire_timeout: Duration::from_secs(10), read_only: false }
    }
}

impl PostgresOptions {
    /// Returns the defaults: sixteen connections, and ten seconds as the time limit of an operation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the largest number of open connections; at least one. They are opened on demand.
    pub fn with_connections(mut self, connections: u32) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Sets whether the database is only read, for programs that inspect another program's database. The default is
    /// `false`. Missing tables are then not created, every operation that would write fails as `ReadOnly`, and open
    /// questions are found by reading all sessions.
    pub fn with_read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets the time limit of a whole operation: waiting for a free connection, connecting, locks of other programs,
    /// and retries while the server is unavailable. After it, the operation fails as `Unavailable`, and an append may
    /// have been stored.
    pub fn with_acquire_timeout(mut self, timeout: Duration) -> Self {
        self.acquire_timeout = timeout;
        self
    }
}
