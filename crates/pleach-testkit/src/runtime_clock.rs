//! [`RuntimeClock`]: the time of tokio's runtime, which a test can pause.

use std::time::Duration;

use pleach_core::{BoxFuture, Clock};
use tokio::time::Instant;

/// A clock that starts at 1,800,000,000 seconds since the epoch and then follows the runtime's time. All clones are the
/// same clock.
///
/// If the runtime's time is paused, sleeps take no real time and end in an exact order, and equal programs read equal
/// times.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeClock {
    made: Instant,
}

impl RuntimeClock {
    /// Returns a clock that starts now.
    pub fn start() -> Self {
        Self { made: Instant::now() }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> f64 {
        1_800_000_000.0 + self.made.elapsed().as_secs_f64()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
