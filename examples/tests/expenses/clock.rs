//! [`TestClock`]: a clock that a test advances.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach::{BoxFuture, Clock};
use tokio::sync::oneshot;

/// How long a second of a clock that runs takes.
const PACE: Duration = Duration::from_millis(20);

/// A clock that shows 1,800,000,000 seconds since the epoch until it is advanced. A sleep lasts until the clock shows its end. Its
/// clones are one clock.
#[derive(Clone, Debug)]
pub(crate) struct TestClock {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    now: f64,
    sleeps: Vec<(f64, oneshot::Sender<()>)>,
}

impl Default for TestClock {
    fn default() -> Self {
        Self { shared: Arc::new(Mutex::new(Shared { now: 1_800_000_000.0, sleeps: Vec::new() })) }
    }
}

impl TestClock {
    /// Advances the clock, and ends the sleeps that are over then.
    pub(crate) fn advance(&self, by: Duration) {
        let mut shared = self.shared();
        shared.now += by.as_secs_f64();
        let now = shared.now;
        for (_, wake) in shared.sleeps.extract_if(.., |(end, _)| *end <= now) {
            // A sleeper that was dropped needs no waking.
            let _ = wake.send(());
        }
    }

    /// Waits for a future while the clock runs, for what other processes store, and what wakes at a time: so slowly that databases answer
    /// within the time-outs of steps.
    pub(crate) async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let running = async {
            loop {
                self.advance(Duration::from_secs(1));
                tokio::time::sleep(PACE).await;
            }
        };
        tokio::select! {
            done = future => done,
            () = running => unreachable!("it runs for ever"),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for TestClock {
    fn now(&self) -> f64 {
        self.shared().now
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let (wake, woken) = oneshot::channel();
        let mut shared = self.shared();
        if !duration.is_zero() {
            let end = shared.now + duration.as_secs_f64();
            shared.sleeps.push((end, wake));
        }
        Box::pin(async move {
            let _ = woken.await;
        })
    }
}
