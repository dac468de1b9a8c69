//! [`TestClock`]: a clock that a test advances, and that several services and Runners can share.

mod shared;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pleach_core::{BoxFuture, Clock};
use tokio::time::Instant;

use shared::{LAST, Shared, Sleep};

/// The time at which test clocks start: 2027-01-15, 08:00 UTC, in seconds since the epoch.
const START: Duration = Duration::from_secs(1_800_000_000);

/// The time by which [`TestClock::run`] advances the clock after each [`PACE`].
const STRIDE: Duration = Duration::from_secs(1);

/// The time that a second takes in [`TestClock::run`]: long enough for a database to answer within the timeouts of
/// steps.
const PACE: Duration = Duration::from_millis(20);

/// The number of times that the other tasks are polled after the clock was advanced. A run in memory needs a few polls
/// for each event.
const POLLS: usize = 64;

/// A clock that a test advances. All clones are the same clock, so services and Runners that get clones share it.
///
/// | constructor | what its time does | when a sleep ends |
/// | --- | --- | --- |
/// | [`new`](Self::new), [`starting_at`](Self::starting_at) | stands still | when the test advances the clock |
/// | [`running`](Self::running), [`running_from`](Self::running_from) | follows tokio's time | by itself |
/// | [`skipping`](Self::skipping) | passes in sleeps | at once |
/// | [`skipping_only`](Self::skipping_only) | stands still | at once for chosen durations, otherwise when the test advances the clock |
/// | [`ticking_from`](Self::ticking_from) | passes in readings and in sleeps | at once |
///
/// With `#[tokio::test(start_paused = true)]`, a clock that follows tokio's time takes no real time: the runtime advances
/// its time whenever all tasks wait. A test can advance every clock.
///
/// Timeouts, retries, sleeps and deadlines of runs use the clock of their Runner. So do `Runner::drain` and followers that
/// read the events of other processes. While a test waits for those, the clock must be advanced, as [`run`](TestClock::run)
/// does.
///
/// ```
/// use std::time::Duration;
///
/// use pleach_contract::TestClock;
/// use pleach_core::Clock as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let clock = TestClock::new();
/// let sleep = tokio::spawn(clock.sleep(Duration::from_secs(60)));
/// clock.advance(Duration::from_secs(59)).await;
/// assert!(!sleep.is_finished());
/// clock.advance(Duration::from_secs(1)).await;
/// assert!(sleep.is_finished());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TestClock {
    shared: Arc<Shared>,
}

/// The way in which time passes if the test does not advance the clock.
#[derive(Clone)]
enum Pace {
    Nothing,
    /// The time of tokio's runtime since this instant.
    Runtime(Instant),
    /// Each sleep advances the clock by its duration when it ends. The sleep itself uses the time of tokio's runtime.
    Sleeps,
    /// Each sleep ends at once, and advances the clock by its duration.
    Skipping,
    /// Sleeps of these durations end at once, and no time passes.
    SkippingOnly(Arc<dyn Fn(Duration) -> bool + Send + Sync>),
    /// Each reading advances the clock by a second, and each sleep ends at once and advances it by its duration.
    Readings,
}

impl TestClock {
    /// Returns a clock that shows 2027-01-15, 08:00 UTC, until it is advanced.
    #[must_use]
    pub fn new() -> Self {
        Self::with(START, Pace::Nothing)
    }

    /// Returns a clock that shows 2027-01-15, 08:00 UTC, and then follows the time of tokio's runtime.
    #[must_use]
    pub fn running() -> Self {
        Self::with(START, Pace::Runtime(Instant::now()))
    }

    /// Returns a clock that shows `time` until it is advanced. Times before 1970 are treated as 1970, and times after
    /// 9999 as the end of 9999.
    #[must_use]
    pub fn starting_at(time: SystemTime) -> Self {
        Self::with(since_epoch(time), Pace::Nothing)
    }

    /// Returns a clock that shows `time`, and then follows the time of tokio's runtime. Times are limited as in
    /// [`starting_at`](Self::starting_at).
    #[must_use]
    pub fn running_from(time: SystemTime) -> Self {
        Self::with(since_epoch(time), Pace::Runtime(Instant::now()))
    }

    /// Returns a clock that shows 2027-01-15, 08:00 UTC, and whose sleeps end at once: a sleep advances the clock by its
    /// duration, and lets the other tasks of the runtime be polled once.
    #[must_use]
    pub fn skipping() -> Self {
        Self::with(START, Pace::Skipping)
    }

    /// Returns a clock like [`new`](Self::new), in which sleeps end at once if `skips` returns true for their duration.
    /// Such a sleep does not advance the clock.
    #[must_use]
    pub fn skipping_only(skips: impl Fn(Duration) -> bool + Send + Sync + 'static) -> Self {
        Self::with(START, Pace::SkippingOnly(Arc::new(skips)))
    }

    /// Returns a clock that shows `time` when it is first read, and a second more with every further reading, so that no
    /// two times are equal. Its sleeps end at once, as those of [`skipping`](Self::skipping). Times are limited as in
    /// [`starting_at`](Self::starting_at).
    #[must_use]
    pub fn ticking_from(time: SystemTime) -> Self {
        Self::with(since_epoch(time), Pace::Readings)
    }

    /// Returns a clock that shows 2027-01-15, 08:00 UTC, until a sleep ends. A sleep lasts as long in tokio's time, and then
    /// advances the clock by its duration. Code that does not sleep takes no time, even if tokio's time is not paused.
    #[must_use]
    pub fn passing_in_sleeps() -> Self {
        Self::with(START, Pace::Sleeps)
    }

    fn with(shown: Duration, pace: Pace) -> Self {
        Self { shared: Arc::new(Shared::new(shown, pace)) }
    }

    /// Returns the time that the clock shows.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        UNIX_EPOCH + self.shared.since_epoch()
    }

    /// Returns the number of sleeps, including timeouts, that have begun but not ended.
    #[must_use]
    pub fn sleeping(&self) -> usize {
        self.shared.sleeping()
    }

    /// Returns the durations of all sleeps that have begun, in the order in which they began, whether or not they have
    /// ended.
    #[must_use]
    pub fn sleeps(&self) -> Vec<Duration> {
        self.shared.begun()
    }

    /// Advances the clock and ends the sleeps until then in the order of their times, each when the clock shows its
    /// time. The clock stops at the end of the year 9999.
    ///
    /// In between, the other tasks of the runtime are polled, so that a task that wakes can sleep again. This needs a
    /// current-thread runtime, the default of `#[tokio::test]`. On a runtime with several threads, the clock does not
    /// know when the other tasks have been polled, and sleeps may begin late. Work that waits for a database or another
    /// thread may also take longer: wait for it, or use [`run`](Self::run) or
    /// [`advance_to_next_sleep`](Self::advance_to_next_sleep).
    ///
    /// # Cancel safety
    /// If the future is dropped, the clock shows a time in between.
    pub async fn advance(&self, by: Duration) {
        let target = self.shared.since_epoch().saturating_add(by).min(LAST);
        while let Some(next) = self.shared.next(Some(target)) {
            self.shared.set(next);
            others().await;
        }
        self.shared.set(target);
        others().await;
    }

    /// Waits for a future while the clock runs: it advances by a second in each 20 ms of tokio's time. Use it to wait
    /// for timers, and for events of other processes, which followers poll for by this clock. Databases have time to
    /// answer within the timeouts of steps. If tokio's time is paused, no real time passes.
    ///
    /// # Cancel safety
    /// Dropping the future also drops the awaited future. The clock keeps the time that has passed.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let running = async {
            loop {
                tokio::time::sleep(PACE).await;
                self.advance(STRIDE).await;
            }
        };
        tokio::select! {
            biased;
            done = future => done,
            never = running => never,
        }
    }

    /// Waits until something sleeps, advances the clock to the earliest end of a sleep, and returns the duration of the
    /// advance.
    ///
    /// # Cancel safety
    /// Until something sleeps, dropping the future has no effect.
    pub async fn advance_to_next_sleep(&self) -> Duration {
        let mut slept = self.shared.new_sleeps();
        loop {
            if let Some(next) = self.shared.next(None) {
                let before = self.shared.since_epoch();
                self.shared.set(next);
                others().await;
                return next.saturating_sub(before);
            }
            // This cannot fail, because the sender is in `self`.
            let _ = slept.changed().await;
        }
    }

    /// Sets the clock to a time in seconds since the epoch, unless it already shows a later one, and ends all sleeps until
    /// then. Other tasks are not polled.
    pub fn jump_to(&self, seconds: f64) {
        let mut time = Duration::try_from_secs_f64(seconds).unwrap_or_default().min(LAST);
        // The clock must not show less than `seconds`.
        if time.as_secs_f64() < seconds {
            time += Duration::from_micros(1);
        }
        self.shared.set(time);
    }

    /// Ends the sleeps of this duration, and returns their number. The clock shows the same time as before, and sleeps of
    /// other durations last. Other tasks are not polled.
    ///
    /// Use it to choose the timeout that elapses, whatever other timeouts there are.
    pub fn end_sleeps_of(&self, duration: Duration) -> usize {
        self.shared.end_sleeps_of(duration)
    }
}

/// The default is a clock that shows 2027-01-15, 08:00 UTC, until it is advanced.
impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> f64 {
        self.shared.read().as_secs_f64()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if self.skips(duration) {
            let shared = Arc::clone(&self.shared);
            shared.note_sleep(duration);
            return Box::pin(async move {
                shared.skipped(duration);
                // Other tasks must be polled, as during a real sleep.
                tokio::task::yield_now().await;
            });
        }
        let mut moved = self.shared.moves();
        let sleep = Sleep::begin(&self.shared, duration);
        Box::pin(async move {
            loop {
                let left = sleep.left();
                if left.is_zero() {
                    return;
                }
                if sleep.follows_runtime() {
                    if tokio::time::timeout(left, moved.changed()).await.is_err() {
                        sleep.elapsed();
                    }
                } else {
                    // This cannot fail, because the sender is in the clock.
                    let _ = moved.changed().await;
                }
            }
        })
    }
}

impl TestClock {
    fn skips(&self, duration: Duration) -> bool {
        match &self.shared.pace {
            Pace::Skipping | Pace::Readings => true,
            Pace::SkippingOnly(skips) => skips(duration),
            Pace::Nothing | Pace::Runtime(_) | Pace::Sleeps => false,
        }
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Runtime(_) => "Runtime",
            Self::Sleeps => "Sleeps",
            Self::Skipping => "Skipping",
            Self::SkippingOnly(_) => "SkippingOnly",
            Self::Readings => "Readings",
        })
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LAST)
}

/// Lets the other tasks of the runtime proceed as far as they can without waiting.
async fn others() {
    for _ in 0..POLLS {
        tokio::task::yield_now().await;
    }
}
