//! [`Limits`]: the times and sizes that a server is allowed.

use std::sync::Arc;
use std::time::Duration;

use pleach_core::Clock;

/// The times, by the clock, and the sizes that a server is allowed.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The time for the start of the server and the first exchange.
    pub(crate) connect: Duration,
    /// The time to list tools, resources or prompts, and to read a resource or a prompt.
    pub(crate) list: Duration,
    /// The time for a call of a tool.
    pub(crate) call: Duration,
    /// The size of one message of the server.
    pub(crate) message_bytes: usize,
    /// The size of everything that comes between two answers.
    pub(crate) exchange_bytes: usize,
    /// The number of notices and requests that come between two answers.
    pub(crate) server_messages: usize,
    /// The number of requests of the server that are not answered yet.
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

    /// Waits for `future`. Returns `None` if `limit` is over first.
    pub(crate) async fn within<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        pleach_http::within(self.clock.sleep(limit), future).await
    }
}
