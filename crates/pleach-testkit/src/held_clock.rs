//! [`HeldClock`]: a clock whose sleeps end when the test ends them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_core::{BoxFuture, Clock};
use tokio::sync::oneshot;

/// A clock that always shows 1,800,000,000 seconds since the epoch. A sleep lasts until the test wakes it. All clones
/// are the same clock.
#[derive(Clone, Debug, Default)]
pub struct HeldClock {
    sleeps: Arc<Mutex<Vec<Sleep>>>,
}

#[derive(Debug)]
struct Sleep {
    duration: Duration,
    wake: oneshot::Sender<()>,
}

impl HeldClock {
    /// Ends the oldest sleep, and returns its requested duration.
    ///
    /// # Panics
    /// Panics if nothing sleeps.
    pub fn wake(&self) -> Duration {
        let sleep = self.sleeps().remove(0);
        // A sleeper that was dropped needs no waking.
        let _ = sleep.wake.send(());
        sleep.duration
    }

    /// Ends all sleeps with this requested duration, and returns their number.
    pub fn wake_all_of(&self, duration: Duration) -> usize {
        let woken: Vec<Sleep> = self.sleeps().extract_if(.., |sleep| sleep.duration == duration).collect();
        let count = woken.len();
        for sleep in woken {
            sleep.wake.send(()).ok();
        }
        count
    }

    fn sleeps(&self) -> MutexGuard<'_, Vec<Sleep>> {
        self.sleeps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for HeldClock {
    fn now(&self) -> f64 {
        1_800_000_000.0
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let (wake, woken) = oneshot::channel();
        self.sleeps().push(Sleep { duration, wake });
        Box::pin(async move {
            let _ = woken.await;
        })
    }
}
