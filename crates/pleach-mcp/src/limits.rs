//! How long things may take, and how much a server may send.

use std::sync::Arc;
use std::time::Duration;

use pleach_core::Clock;

/// How long things may take, by the clock, and how much a server may send.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Starting the server and the first exchange with it.
    pub(crate) connect: Duration,
    /// Listing tools, resources or prompts, and reading one of the latter.
    pub(crate) list: Duration,
    /// A call of a tool.
    pub(crate) call: Duration,
    /// One message of the server.
    pub(crate) message_bytes: usize,
    /// All that comes between two answers.
    pub(crate) exchange_bytes: usize,
    /// The notices and requests that come between two answers.
    pub(crate) server_messages: usize,
    /// The requests of the server that have no answer yet.
    pub(crate) server_requests: usize,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Limits {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            connect: Duration::from_secs(30),
            list: Duration::from_secs(30),
            call: Duration::from_secs(300),
            message_bytes: 16 << 20,
            exchange_bytes: 64 << 20,
            server_messages: 100_000,
            server_requests: 256,
            clock,
        }
    }

    /// Waits for `future`; `None` when `limit` is over first.
    pub(crate) async fn within<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        pleach_http::within(self.clock.sleep(limit), future).await
    }
}
