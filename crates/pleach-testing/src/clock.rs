//! [`TestClock`]: a clock that a test advances, and that several Runners can share.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pleach_core::{BoxFuture, Clock};
use tokio::sync::watch;
use tokio::time::Instant;

/// The time at which test clocks start: 2027-01-15, 08:00 UTC, in seconds since the epoch.
const START: Duration = Duration::from_secs(1_800_000_000);

/// The end of time, 9999-12-31. No clock shows a later time, and a sleep until then or later does not end.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// The time by which [`TestClock::run`] advances the clock after each [`PACE`].
const STRIDE: Duration = Duration::from_secs(1);

/// The time that a second takes in [`TestClock::run`]: long enough for a database to answer within the timeouts of
/// steps.
const PACE: Duration = Duration::from_millis(20);

/// The number of times that the other tasks are polled after the clock was advanced. A run in memory needs a few polls
/// for each event.
const POLLS: usize = 64;

/// A clock that a test advances. All clones are the same clock, so Runners that get clones share it.
///
/// A [`TestClock::new`] shows the same time until it is advanced, and no sleep ends before that. A
/// [`TestClock::running`] shows the time of tokio's runtime, which passes by itself. With
/// `#[tokio::test(start_paused = true)]` no real time passes, and the runtime advances its time whenever all tasks
/// wait. Such a clock can also be advanced.
///
/// Timeouts, retries, sleeps and deadlines of runs use the clock of their Runner. So do
/// [`Runner::drain`](pleach_runner::Runner::drain) and followers that read the events of other processes. While a test
/// waits for those, the clock must be advanced, as [`run`](TestClock::run) does.
///
/// ```
/// use std::time::Duration;
///
/// use pleach_core::Clock as _;
/// use pleach_testing::TestClock;
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

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    pace: Pace,
    /// Notified when time is advanced, and when a sleep begins.
    changed: watch::Sender<u64>,
}

/// The source of time that passes by itself.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Nothing,
    /// The time of tokio's runtime since this instant.
    Runtime(Instant),
    /// Each sleep advances the clock by its duration when it ends. The sleep itself uses the time of tokio's runtime.
    Sleeps,
}

#[derive(Debug)]
struct State {
    /// The time set by the test, since the epoch; time that passes by itself is added to it.
    shown: Duration,
    /// The ends of the sleeps, since the epoch, each with a number.
    sleeps: BTreeSet<(Duration, u64)>,
    begun: u64,
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

    /// Returns a clock that shows the same time until a sleep ends: code that does not sleep takes no time, even if
    /// tokio's time is not paused.
    pub(crate) fn of_sleeps() -> Self {
        Self::with(START, Pace::Sleeps)
    }

    fn with(shown: Duration, pace: Pace) -> Self {
        let state = Mutex::new(State { shown, sleeps: BTreeSet::new(), begun: 0 });
        Self { shared: Arc::new(Shared { state, pace, changed: watch::channel(0).0 }) }
    }

    /// Returns the time that the clock shows.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        UNIX_EPOCH + self.shared.since_epoch()
    }

    /// Returns the number of sleeps, including timeouts, that have begun but not ended.
    #[must_use]
    pub fn sleeping(&self) -> usize {
        self.shared.state().sleeps.len()
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
        let mut changed = self.shared.changed.subscribe();
        loop {
            if let Some(next) = self.shared.next(None) {
                let before = self.shared.since_epoch();
                self.shared.set(next);
                others().await;
                return next.saturating_sub(before);
            }
            // This cannot fail, because the sender is in `self`.
            let _ = changed.changed().await;
        }
    }

    /// Sets the clock to a time, if it is later than the current one, and ends all sleeps until then at once.
    pub(crate) fn jump_to(&self, seconds: f64) {
        // Rounded up to the next microsecond, so that the clock does not show less than `seconds`.
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default() + Duration::from_micros(1);
        self.shared.set(time);
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
        self.shared.since_epoch().as_secs_f64()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut changed = self.shared.changed.subscribe();
        let sleep = Sleep::begin(&self.shared, duration);
        Box::pin(async move {
            if sleep.until.0 >= LAST {
                std::future::pending::<()>().await;
            }
            loop {
                let left = sleep.until.0.saturating_sub(sleep.clock.since_epoch());
                if left.is_zero() {
                    return;
                }
                if let Pace::Nothing = sleep.clock.pace {
                    // This cannot fail, because the sender is in the clock.
                    let _ = changed.changed().await;
                } else if tokio::time::timeout(left, changed.changed()).await.is_err() {
                    sleep.clock.slept_until(sleep.until.0);
                }
            }
        })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn since_epoch(&self) -> Duration {
        self.state().shown.saturating_add(self.passed()).min(LAST)
    }

    /// Returns the time that has passed by itself.
    fn passed(&self) -> Duration {
        match self.pace {
            Pace::Runtime(since) => since.elapsed(),
            Pace::Nothing | Pace::Sleeps => Duration::ZERO,
        }
    }

    /// Notes that a sleep has ended.
    fn slept_until(&self, time: Duration) {
        if let Pace::Sleeps = self.pace {
            self.set(time);
        }
    }

    /// Sets the time, unless it is in the past.
    fn set(&self, time: Duration) {
        let mut state = self.state();
        state.shown = state.shown.max(time.saturating_sub(self.passed()));
        drop(state);
        self.change();
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Returns the earliest end of a sleep after the current time, up to `last`.
    fn next(&self, last: Option<Duration>) -> Option<Duration> {
        let now = self.since_epoch();
        let state = self.state();
        let next = state.sleeps.range((now, u64::MAX)..).map(|(until, _)| *until).next();
        next.filter(|next| *next < LAST && last.is_none_or(|last| *next <= last))
    }
}

/// A sleep that has not ended.
struct Sleep {
    clock: Arc<Shared>,
    until: (Duration, u64),
}

impl Sleep {
    fn begin(clock: &Arc<Shared>, duration: Duration) -> Self {
        let end = clock.since_epoch().saturating_add(duration).min(LAST);
        let mut state = clock.state();
        state.begun += 1;
        let until = (end, state.begun);
        state.sleeps.insert(until);
        drop(state);
        clock.change();
        Self { clock: Arc::clone(clock), until }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.state().sleeps.remove(&self.until);
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
