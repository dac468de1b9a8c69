//! [`Tally`]: running totals of the events of one run.

use pleach_context::engine::is_reported;
use pleach_core::Event;

use super::model::{Attempt, TurnWork, Work};

/// Running totals of the events of one run and the runs below it, kept while a log is read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) began: f64,
    pub(super) ended: f64,
    pub(super) first: usize,
    pub(super) last: usize,
    /// The number of the run's own events.
    pub(super) events: usize,
    /// The failed attempts.
    pub(super) failures: Vec<Attempt>,
    /// When the last attempt began.
    pub(super) attempt_began: f64,
    /// The work of the run in each turn up to the last known one; see [`catch_up`](Self::catch_up).
    pub(super) turns: Vec<TurnWork>,
}

impl Tally {
    /// Creates the tally of a run. `place` is the position of its first event, and `before` the time of the event
    /// before that.
    pub(super) fn new(before: f64, place: usize) -> Self {
        Self { began: before, first: place, attempt_began: before, ..Self::default() }
    }

    /// Adds an event of the run or a run below it.
    pub(super) fn count(&mut self, event: &Event, is_own: bool, place: usize, turn: usize, before: f64) {
        let time = event.timestamp();
        self.execute(turn, before, time);
        (self.ended, self.last) = (time, place);
        self.events += usize::from(is_own);
        let ends_attempt = is_own && event.error_code().is_some() && !event.is_partial() && !is_reported(event);
        if ends_attempt {
            self.failures.push(Attempt {
                began: self.attempt_began,
                ended: time,
                error: event.error_code().map(str::to_owned),
                message: event.error_message().map(str::to_owned),
            });
            self.attempt_began = time;
        }
    }

    /// Notes that the run, or a run below it, wrote something.
    fn execute(&mut self, turn: usize, before: f64, time: f64) {
        match self.turns.last_mut() {
            Some(work) if work.last == turn && work.work == Work::Executed => work.ended = Some(time),
            _ => {
                // If a run is answered and then executes, the turn is recorded as executed.
                self.take_back(turn);
                let (began, ended) = (Some(before), Some(time));
                self.turns.push(TurnWork { first: turn, last: turn, work: Work::Executed, began, ended });
            }
        }
    }

    /// Removes the record of this turn, if there is one.
    fn take_back(&mut self, turn: usize) {
        let Some(work) = self.turns.last_mut().filter(|work| work.last == turn) else { return };
        if work.first == turn {
            self.turns.pop();
        } else {
            work.last = turn - 1;
        }
    }

    /// Notes that the run, or a run below it, received an answer.
    pub(super) fn answer(&mut self, turn: usize, place: usize, time: f64) {
        if self.turns.last().is_none_or(|work| work.last < turn) {
            self.idle(turn, Work::Answered);
        }
        (self.ended, self.last) = (time, place);
    }

    /// Fills in the turns before `turn` in which the run made no progress. `waits` returns true if the run was waiting
    /// for an answer in these turns.
    pub(super) fn catch_up(&mut self, turn: usize, waits: impl FnOnce() -> bool) {
        if self.turns.last().is_some_and(|work| work.last + 1 < turn) {
            self.idle(turn - 1, if waits() { Work::Waited } else { Work::Replayed });
        }
    }

    /// Sets `kind` for all turns up to `turn` that are not known yet.
    fn idle(&mut self, turn: usize, kind: Work) {
        match self.turns.last_mut() {
            Some(work) if work.work == kind => work.last = turn,
            last => {
                let first = last.map_or(turn, |work| work.last + 1);
                self.turns.push(TurnWork { first, last: turn, work: kind, began: None, ended: None });
            }
        }
    }

    /// Returns how long the run has executed, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.turns.iter().filter_map(|work| Some(work.ended? - work.began?)).map(|seconds| seconds.max(0.0)).sum()
    }
}
