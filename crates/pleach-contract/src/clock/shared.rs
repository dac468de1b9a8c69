//! The time and the sleeps that the clones of a clock share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::Pace;

/// The end of time, 9999-12-31. No clock shows a later time, and a sleep until then or later does not end.
pub(super) const LAST: Duration = Duration::from_secs(253_402_300_799);

/// The time by which each reading advances a clock that ticks.
const TICK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) pace: Pace,
    state: Mutex<State>,
    /// Notified when time is advanced, and when sleeps are ended. A sleep that begins wakes no other one: code that misses a
    /// wake-up of its own would go unnoticed.
    moved: watch::Sender<()>,
    /// Notified when a sleep begins.
    slept: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The time set by the test, since the epoch; time that passes by itself is added to it.
    shown: Duration,
    /// The durations of all sleeps, in the order in which they began.
    begun: Vec<Duration>,
    /// The sleeps that last, by their ends since the epoch and their places in `begun`.
    lasting: BTreeMap<(Duration, usize), Lasting>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lasting {
    UntilItsTime,
    /// The test has ended it, and its task has not been polled yet.
    Ended,
}

impl Shared {
    pub(super) fn new(shown: Duration, pace: Pace) -> Self {
        let state = Mutex::new(State { shown, ..State::default() });
        Self { pace, state, moved: watch::channel(()).0, slept: watch::channel(()).0 }
    }

    /// Returns a receiver that is notified when a sleep may have ended.
    pub(super) fn moves(&self) -> watch::Receiver<()> {
        self.moved.subscribe()
    }

    /// Returns a receiver that is notified when a sleep begins.
    pub(super) fn new_sleeps(&self) -> watch::Receiver<()> {
        self.slept.subscribe()
    }

    pub(super) fn since_epoch(&self) -> Duration {
        self.state().shown.saturating_add(self.passed()).min(LAST)
    }

    /// Returns the time for a reader of the clock.
    pub(super) fn read(&self) -> Duration {
        let mut state = self.state();
        let read = state.shown.saturating_add(self.passed()).min(LAST);
        if let Pace::Readings = self.pace {
            state.shown = read.saturating_add(TICK);
        }
        read
    }

    /// Returns the time that has passed by itself.
    fn passed(&self) -> Duration {
        if let Pace::Runtime(since) = self.pace { since.elapsed() } else { Duration::ZERO }
    }

    pub(super) fn sleeping(&self) -> usize {
        self.state().lasting.values().filter(|lasting| **lasting == Lasting::UntilItsTime).count()
    }

    pub(super) fn begun(&self) -> Vec<Duration> {
        self.state().begun.clone()
    }

    /// Notes a sleep that ends at once.
    pub(super) fn note_sleep(&self, duration: Duration) {
        self.state().begun.push(duration);
    }

    /// Notes that a sleep was skipped.
    pub(super) fn skipped(&self, duration: Duration) {
        if let Pace::Skipping | Pace::Readings = self.pace {
            self.set(self.since_epoch().saturating_add(duration).min(LAST));
        }
    }

    /// Sets the time, unless it is in the past.
    pub(super) fn set(&self, time: Duration) {
        let mut state = self.state();
        state.shown = state.shown.max(time.saturating_sub(self.passed()));
        drop(state);
        self.moved.send_replace(());
    }

    /// Returns the earliest end of a sleep after the current time, up to `last`.
    pub(super) fn next(&self, last: Option<Duration>) -> Option<Duration> {
        let now = self.since_epoch();
        let state = self.state();
        let mut later = state.lasting.range((now, usize::MAX)..);
        let next = later.find(|(_, lasting)| **lasting == Lasting::UntilItsTime).map(|((until, _), _)| *until);
        next.filter(|next| *next < LAST && last.is_none_or(|last| *next <= last))
    }

    pub(super) fn end_sleeps_of(&self, duration: Duration) -> usize {
        let mut state = self.state();
        let State { begun, lasting, .. } = &mut *state;
        let of_duration = lasting
            .iter_mut()
            .filter(|((_, number), lasting)| begun[*number] == duration && **lasting == Lasting::UntilItsTime);
        let ended = of_duration.map(|(_, lasting)| *lasting = Lasting::Ended).count();
        drop(state);
        self.moved.send_replace(());
        ended
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sleep that has not ended.
pub(super) struct Sleep {
    clock: Arc<Shared>,
    until: (Duration, usize),
}

impl Sleep {
    pub(super) fn begin(clock: &Arc<Shared>, duration: Duration) -> Self {
        let end = clock.since_epoch().saturating_add(duration).min(LAST);
        let mut state = clock.state();
        let until = (end, state.begun.len());
        state.begun.push(duration);
        state.lasting.insert(until, Lasting::UntilItsTime);
        drop(state);
        clock.slept.send_replace(());
        Self { clock: Arc::clone(clock), until }
    }

    /// Returns how long the sleep still lasts; for ever, if that is until the end of time.
    pub(super) fn left(&self) -> Duration {
        let (end, now) = (self.until.0, self.clock.since_epoch());
        match self.clock.state().lasting.get(&self.until) {
            Some(Lasting::UntilItsTime) if end >= LAST => Duration::MAX,
            Some(Lasting::UntilItsTime) => end.saturating_sub(now),
            Some(Lasting::Ended) | None => Duration::ZERO,
        }
    }

    /// Returns true if the sleep ends after its duration in the time of tokio's runtime.
    pub(super) fn follows_runtime(&self) -> bool {
        matches!(self.clock.pace, Pace::Runtime(_) | Pace::Sleeps) && self.until.0 < LAST
    }

    /// Notes that the sleep has lasted its duration in the time of tokio's runtime.
    pub(super) fn elapsed(&self) {
        if let Pace::Sleeps = self.clock.pace {
            self.clock.set(self.until.0);
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.state().lasting.remove(&self.until);
    }
}
