//! [`FixedClock`]: a clock that a test sets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_core::{BoxFuture, Clock};

/// A clock that advances only when the test or a sleep advances it. All clones are the same clock.
///
/// A sleep completes at once and advances the clock by its duration, so that a test can read the total time slept.
#[derive(Clone, Debug)]
pub struct FixedClock {
    now: Arc<Mutex<f64>>,
    step: f64,
}

impl FixedClock {
    /// Returns a clock that shows `seconds` since the epoch.
    pub fn at(seconds: f64) -> Self {
        Self { now: Arc::new(Mutex::new(seconds)), step: 0.0 }
    }

    /// Returns a clock that shows `seconds` since the epoch when it is first read, and a second more with every further
    /// reading.
    pub fn ticking(seconds: f64) -> Self {
        Self { step: 1.0, ..Self::at(seconds) }
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        *self.lock() += by.as_secs_f64();
    }

    /// Sets the clock to `seconds` since the epoch.
    pub fn set(&self, seconds: f64) {
        *self.lock() = seconds;
    }

    fn lock(&self) -> MutexGuard<'_, f64> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The default clock shows 2027-01-15, 08:00 UTC: 1,800,000,000 seconds since the epoch.
impl Default for FixedClock {
    fn default() -> Self {
        Self::at(1_800_000_000.0)
    }
}

impl Clock for FixedClock {
    fn now(&self) -> f64 {
        let mut now = self.lock();
        let shown = *now;
        *now += self.step;
        shown
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        Box::pin(async move {
            clock.advance(duration);
            // Other tasks must be polled, as during a real sleep.
            tokio::task::yield_now().await;
        })
    }
}
