//! How a Postgres database is used.

use std::time::Duration;

/// Settings of a [`PostgresSessionService`](crate::PostgresSessionService).
///
/// Durability is the server's own: `synchronous_commit` is left as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    pub(crate) connections: u32,
    pub(crate) acquire_timeout: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { connections: 16, acquire_timeout: Duration::from_secs(10) }
    }
}

impl PostgresOptions {
    /// Sixteen connections, ten seconds for acquiring one.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many connections are open at most; at least one. They are opened when they are needed.
    pub fn with_connections(mut self, connections: u32) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// How long an operation may take in all: waiting for a free connection, connecting, locks other programs hold,
    /// and trying again when the server is gone. Then it is `Unavailable`, and an append may have been stored.
    pub fn with_acquire_timeout(mut self, timeout: Duration) -> Self {
        self.acquire_timeout = timeout;
        self
    }
}
