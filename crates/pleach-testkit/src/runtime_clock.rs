//! [`RuntimeClock`]: the time of tokio's runtime, which a test can pause.

use std::time::Duration;

use pleach_core::{BoxFuture, Clock};
use tokio::time::Instant;

/// A clock that shows 1,800,000,000 seconds since the epoch when it is made, and measures from there by the runtime's time.
/// Its clones are one clock.
///
/// In a runtime whose time is paused, sleeps take no real time and end in an exact order, and equal programs read equal times.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeClock {
    made: Instant,
}

impl RuntimeClock {
    /// A clock that starts now.
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
