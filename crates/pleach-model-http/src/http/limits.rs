//! [`Limits`]: the times and sizes of calls and answers.

use std::time::Duration;

use futures_util::poll;
use pleach_core::{BoxFuture, Clock};

/// The number of steps before other tasks may run.
const STEPS: u32 = 64;

/// The times and sizes of calls and answers. Times are by the invocation's clock unless noted otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The time for connecting, by the system's clock.
    pub(crate) connect: Duration,
    /// The time from sending to the beginning of the answer.
    pub(crate) first_byte: Duration,
    /// The time between two events with content.
    pub(crate) idle: Duration,
    /// The time from sending to the end of the answer.
    pub(crate) total: Duration,
    /// The maximum size of an answer, or of an event of a streamed answer, in bytes.
    pub(crate) response_bytes: usize,
    /// The maximum size of a whole streamed answer, in bytes.
    pub(crate) stream_bytes: usize,
    /// The maximum number of calls in one answer.
    pub(crate) calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            total: Duration::from_secs(3_600),
            response_bytes: 64 << 20,
            stream_bytes: 256 << 20,
            calls: 1_000,
        }
    }
}

/// A time limit, with its duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TimeLimit {
    FirstByte(Duration),
    Idle(Duration),
    Total(Duration),
    /// The limit that the request sets for itself.
    Request(Duration),
    /// The limit for the body of an error.
    Failure(Duration),
}

impl TimeLimit {
    fn duration(self) -> Duration {
        match self {
            Self::FirstByte(limit)
            | Self::Idle(limit)
            | Self::Total(limit)
            | Self::Request(limit)
            | Self::Failure(limit) => limit,
        }
    }

    /// Names the part of the answer that did not come in time, and the option that allows more time.
    pub(crate) fn message(self) -> String {
        let seconds = self.duration().as_secs_f64();
        match self {
            Self::FirstByte(_) => {
                format!("no answer began within {seconds} s; allow more with `.first_byte_timeout(…)`")
            }
            Self::Idle(_) => format!("no content came for {seconds} s; allow more with `.idle_timeout(…)`"),
            Self::Total(_) => {
                format!("the answer was not whole after {seconds} s; allow more with `.total_timeout(…)`")
            }
            Self::Request(_) => {
                format!("the answer was not whole after {seconds} s, the `timeout` of the request's HTTP options")
            }
            Self::Failure(_) => format!("the body of the error did not come within {seconds} s"),
        }
    }
}

/// A time limit that has started.
pub(crate) struct Timer {
    limit: TimeLimit,
    end: BoxFuture<'static, ()>,
}

impl Timer {
    pub(crate) fn start(clock: &dyn Clock, limit: TimeLimit) -> Self {
        Self { limit, end: clock.sleep(limit.duration()) }
    }

    /// Returns true if the time is over.
    pub(crate) async fn is_over(&mut self) -> bool {
        poll!(&mut self.end).is_ready()
    }

    pub(crate) fn limit(&self) -> TimeLimit {
        self.limit
    }
}

/// Waits for `future` within two time limits.
///
/// # Errors
/// The limit that was reached first.
pub(crate) async fn within<F: Future>(
    future: F,
    first: &mut Timer,
    second: &mut Timer,
) -> Result<F::Output, TimeLimit> {
    let limited = pleach_http::within(&mut first.end, future);
    match pleach_http::within(&mut second.end, limited).await {
        Some(Some(output)) => Ok(output),
        Some(None) => Err(first.limit),
        None => Err(second.limit),
    }
}

/// Lets other tasks run now and then. A server that never pauses would otherwise keep the task of its reader busy
/// forever, and no time limit would be checked.
#[derive(Default)]
pub(crate) struct Pace(u32);

impl Pace {
    /// Counts a step. Returns true if other tasks were allowed to run.
    pub(crate) async fn step(&mut self) -> bool {
        self.0 += 1;
        if self.0 < STEPS {
            return false;
        }
        self.0 = 0;
        tokio::task::yield_now().await;
        true
    }
}
