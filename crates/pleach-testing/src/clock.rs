//! [`TestClock`]: a clock that a test advances, and that several Runners share.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pleach_core::{BoxFuture, Clock};
use tokio::sync::watch;
use tokio::time::Instant;

/// 2027-01-15, 08:00 UTC, in seconds since the epoch.
const START: Duration = Duration::from_secs(1_800_000_000);

/// The end of time, 9999-12-31: no clock shows more, and a sleep until then or later does not end.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// How much time [`TestClock::run`] lets pass, each time after [`PACE`].
const STRIDE: Duration = Duration::from_secs(1);

/// How long a second takes in [`TestClock::run`]: long enough for a database to answer within the time-outs of steps.
const PACE: Duration = Duration::from_millis(20);

/// How often the other tasks are polled after the clock was advanced. A run in memory needs a few of them for each event.
const POLLS: usize = 64;

/// A clock that a test advances. Its clones are one clock, so the Runners that get them share it.
///
/// [`TestClock::new`] shows the same time until it is advanced, and no sleep ends before. [`TestClock::running`]
/// shows the time of tokio's runtime, which passes by itself: with `#[tokio::test(start_paused = true)]` no real time passes, and
/// the runtime advances it whenever every task waits. It can be advanced, too.
///
/// Time-outs, retries, sleeps and deadlines of runs wait by the clock of their Runner. So do [`Runner::drain`](pleach_runner::Runner::drain) and
/// followers that read what other processes store: beside them the clock must be advanced, as [`run`](TestClock::run) does.
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
    /// Changes when time is advanced, and when a sleep begins.
    changed: watch::Sender<u64>,
}

/// What advances a clock beside the test.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Nothing,
    /// The time of tokio's runtime since then.
    Runtime(Instant),
    /// Each sleep, by its duration when it ends. It takes the time of tokio's runtime.
    Sleeps,
}

#[derive(Debug)]
struct State {
    /// What the clock shows, without what has passed by itself; since the epoch.
    shown: Duration,
    /// When the sleeps end, since the epoch, each with a number.
    sleeps: BTreeSet<(Duration, u64)>,
    begun: u64,
}

impl TestClock {
    /// Returns a clock that shows 2027-01-15, 08:00 UTC, until it is advanced.
    #[must_use]
    pub fn new() -> Self {
        Self::with(START, Pace::Nothing)
    }

    /// Returns a clock that shows 2027-01-15, 08:00 UTC, and from there measures the time of tokio's runtime.
    #[must_use]
    pub fn running() -> Self {
        Self::with(START, Pace::Runtime(Instant::now()))
    }

    /// Returns a clock that shows `time` until it is advanced. Times before 1970 count as 1970, times after 9999 as the end of 9999.
    #[must_use]
    pub fn starting_at(time: SystemTime) -> Self {
        Self::with(since_epoch(time), Pace::Nothing)
    }

    /// Returns a clock that shows `time`, and from there measures the time of tokio's runtime. Times are limited as in
    /// [`starting_at`](Self::starting_at).
    #[must_use]
    pub fn running_from(time: SystemTime) -> Self {
        Self::with(since_epoch(time), Pace::Runtime(Instant::now()))
    }

    /// Returns a clock that shows the same time until a sleep ends: what does not sleep takes no time, also where time is not paused.
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

    /// Returns how many sleeps, time-outs among them, have begun and not ended.
    #[must_use]
    pub fn sleeping(&self) -> usize {
        self.shared.state().sleeps.len()
    }

    /// Advances the clock, and ends the sleeps until then, in the order of their times: each when the clock shows its time. It does not pass
    /// the end of the year 9999.
    ///
    /// In between the other tasks of the runtime are polled, so that what wakes can sleep again. This needs a current-thread runtime, the
    /// default of `#[tokio::test]`: on one of several threads nothing shows when the others have been polled, and sleeps may begin late.
    /// Work that waits for a database or another thread may take longer, too: wait for it, or use [`run`](Self::run) or
    /// [`advance_to_next_sleep`](Self::advance_to_next_sleep).
    ///
    /// # Cancel safety
    /// When the future is dropped, the clock shows a time in between.
    pub async fn advance(&self, by: Duration) {
        let target = self.shared.since_epoch().saturating_add(by).min(LAST);
        while let Some(next) = self.shared.next(Some(target)) {
            self.shared.set(next);
            others().await;
        }
        self.shared.set(target);
        others().await;
    }

    /// Waits for a future while the clock runs: a second of it passes in each 20 ms of tokio's time. For what wakes at a time, and for what
    /// other processes store, which a follower or an outcome reads again and again by the clock; databases answer meanwhile, within the
    /// time-outs of steps. Where tokio's time is paused, the clock runs as fast as everything else.
    ///
    /// # Cancel safety
    /// Dropping the future drops the one that it waits for, and the clock shows the time that has passed.
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

    /// Waits until something sleeps, advances the clock to the earliest end of a sleep, and returns by how much.
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
            // The sender is in `self`.
            let _ = changed.changed().await;
        }
    }

    /// Shows a time, if it is later than what is shown, and ends all sleeps until then at once.
    pub(crate) fn jump_to(&self, seconds: f64) {
        // The next microsecond: the clock must not show less than was asked for.
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default() + Duration::from_micros(1);
        self.shared.set(time);
    }
}

/// A clock that shows 2027-01-15, 08:00 UTC, until it is advanced.
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
                    // The sender is in the clock.
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

    /// What has passed by itself.
    fn passed(&self) -> Duration {
        match self.pace {
            Pace::Runtime(since) => since.elapsed(),
            Pace::Nothing | Pace::Sleeps => Duration::ZERO,
        }
    }

    /// A sleep has taken its time.
    fn slept_until(&self, time: Duration) {
        if let Pace::Sleeps = self.pace {
            self.set(time);
        }
    }

    /// Shows a time, unless it is in the past.
    fn set(&self, time: Duration) {
        let mut state = self.state();
        state.shown = state.shown.max(time.saturating_sub(self.passed()));
        drop(state);
        self.change();
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// The earliest end of a sleep behind the time that is shown, up to `last`.
    fn next(&self, last: Option<Duration>) -> Option<Duration> {
        let now = self.since_epoch();
        let state = self.state();
        let next = state.sleeps.range((now, u64::MAX)..).map(|(until, _)| *until).next();
        next.filter(|next| *next < LAST && last.is_none_or(|last| *next <= last))
    }
}

/// A sleep that has begun.
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

/// Lets the other tasks of the runtime do what they can do without waiting.
async fn others() {
    for _ in 0..POLLS {
        tokio::task::yield_now().await;
    }
}
