//! Waiting for a server that is not there just now.

use std::time::Duration;

use pleach_core::{IdGen as _, RandomIds};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Pauses between attempts, randomly long and growing, until the sum of them reaches the limit.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    pause: Duration,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { left: limit, pause: FIRST_PAUSE }
    }

    /// Waits for the next pause; false when the limit is reached.
    pub(crate) async fn wait(&mut self) -> bool {
        if self.left.is_zero() {
            return false;
        }
        let pause = self.pause.mul_f64(0.5 + RandomIds.uniform()).min(self.left);
        tokio::time::sleep(pause).await;
        self.left -= pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}
