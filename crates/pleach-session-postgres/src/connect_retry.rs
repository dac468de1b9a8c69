//! [`ConnectRetry`]: repeated attempts while a server is unavailable.

use std::time::Duration;

use pleach_session::Backoff;
use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// A limit that is longer than any program runs. A later `Instant` may not exist.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A deadline, and the pauses between the attempts before it.
#[derive(Debug)]
pub(crate) struct ConnectRetry {
    pub(crate) deadline: Instant,
    pauses: Backoff,
}

impl ConnectRetry {
    pub(crate) fn new(limit: Duration) -> Self {
        let pauses = Backoff::new(limit, FIRST_PAUSE, LONGEST_PAUSE);
        Self { deadline: Instant::now() + limit.min(FOREVER), pauses }
    }

    /// Allows a single attempt that may take this long.
    pub(crate) fn once(limit: Duration) -> Self {
        Self { pauses: Backoff::new(Duration::ZERO, FIRST_PAUSE, LONGEST_PAUSE), ..Self::new(limit) }
    }

    /// Waits for the next pause. Returns `false` if there is no time for another attempt.
    pub(crate) async fn wait(&mut self) -> bool {
        let Some(pause) = self.pauses.pause() else { return false };
        let next = Instant::now() + pause;
        if next >= self.deadline {
            return false;
        }
        tokio::time::sleep_until(next).await;
        true
    }
}
