//! How long a call may take, and how large an answer may be.

use std::future::Future;
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::{BoxFuture, Clock};

/// How long a call may take, and how large an answer may be.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Making a connection, by the system's time.
    pub(crate) connect: Duration,
    /// From sending to the begin of the answer, by the invocation's clock.
    pub(crate) first_byte: Duration,
    /// Between two pieces of the answer, by the invocation's clock.
    pub(crate) idle: Duration,
    /// Of an answer, or of one event of a streamed answer.
    pub(crate) response_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            response_bytes: 64 << 20,
        }
    }
}

/// The end of the time that a whole request has; `None` when it has no limit.
pub(crate) type Deadline = Option<BoxFuture<'static, ()>>;

/// Waits for `future`; `None` when `limit` or the deadline is over first.
pub(crate) async fn within<F: Future>(
    future: F,
    clock: &dyn Clock,
    limit: Duration,
    deadline: &mut Deadline,
) -> Option<F::Output> {
    let limited = async {
        match select(std::pin::pin!(future), clock.sleep(limit)).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    };
    let Some(deadline) = deadline else { return limited.await };
    match select(std::pin::pin!(limited), deadline).await {
        Either::Left((output, _)) => output,
        Either::Right(_) => None,
    }
}
