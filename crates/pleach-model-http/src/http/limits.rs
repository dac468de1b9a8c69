//! How long a call may take, and how large an answer may be.

use std::time::Duration;

use futures_util::poll;
use pleach_core::{BoxFuture, Clock};

/// How many steps are made before other tasks are let run.
const STEPS: u32 = 64;

/// How long a call may take, and how large an answer may be. Times are those of the invocation's clock, unless it says
/// otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Making a connection, by the system's time.
    pub(crate) connect: Duration,
    /// From sending to the begin of the answer.
    pub(crate) first_byte: Duration,
    /// Between two events of the answer that have content.
    pub(crate) idle: Duration,
    /// From sending to the end of the answer.
    pub(crate) total: Duration,
    /// Of an answer, or of one event of a streamed answer.
    pub(crate) response_bytes: usize,
    /// The limit for a streamed answer as a whole.
    pub(crate) stream_bytes: usize,
    /// The limit for one answer.
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

/// A limit of time, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TimeLimit {
    FirstByte(Duration),
    Idle(Duration),
    Total(Duration),
    /// The one that the request sets for itself.
    Request(Duration),
    /// For the body of an error.
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

    /// The part that did not come in time, and the option that allows more.
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

/// A limit of time that has begun.
pub(crate) struct Timer {
    limit: TimeLimit,
    end: BoxFuture<'static, ()>,
}

impl Timer {
    pub(crate) fn start(clock: &dyn Clock, limit: TimeLimit) -> Self {
        Self { limit, end: clock.sleep(limit.duration()) }
    }

    /// Whether the time is over.
    pub(crate) async fn is_over(&mut self) -> bool {
        poll!(&mut self.end).is_ready()
    }

    pub(crate) fn limit(&self) -> TimeLimit {
        self.limit
    }
}

/// Waits for `future`.
///
/// # Errors
/// The limit that was reached before.
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

/// Lets other tasks run now and then: a server that never pauses would keep the task of its reader busy for ever, and no
/// limit of time would be looked at.
#[derive(Default)]
pub(crate) struct Pace(u32);

impl Pace {
    /// Counts a step; returns whether other tasks were let run.
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
