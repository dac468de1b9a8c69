//! A fixed clock.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pleach_core::{BoxFuture, Clock};

/// A clock that a test sets: it advances only when the test or a sleep advances it.
///
/// Sleeping completes at once and moves the clock on by that long, so that a retry's waits can be read off it.
#[derive(Debug)]
pub struct FixedClock {
    now: std::sync::Arc<Mutex<f64>>,
}

impl FixedClock {
    /// A clock that shows `seconds` since the epoch.
    pub fn at(seconds: f64) -> Self {
        Self { now: std::sync::Arc::new(Mutex::new(seconds)) }
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        *lock(&self.now) += by.as_secs_f64();
    }

    /// Sets the clock to `seconds` since the epoch.
    pub fn set(&self, seconds: f64) {
        *lock(&self.now) = seconds;
    }
}

impl Clock for FixedClock {
    fn now(&self) -> f64 {
        *lock(&self.now)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let now = self.now.clone();
        Box::pin(async move {
            *lock(&now) += duration.as_secs_f64();
            // Others must get a turn, as they would while a real sleeper waits.
            tokio::task::yield_now().await;
        })
    }
}

fn lock(now: &Mutex<f64>) -> std::sync::MutexGuard<'_, f64> {
    now.lock().unwrap_or_else(PoisonError::into_inner)
}
