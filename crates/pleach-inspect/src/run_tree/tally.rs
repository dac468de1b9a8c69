//! [`Tally`]: the events of one run, counted.

use pleach_context::engine::is_reported;
use pleach_core::Event;

use super::model::{Attempt, TurnWork, Work};

/// The events of one run and the runs below it, counted while a log is read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) began: f64,
    pub(super) ended: f64,
    pub(super) first: usize,
    pub(super) last: usize,
    /// Its own events.
    pub(super) events: usize,
    /// The attempts that have failed.
    pub(super) failures: Vec<Attempt>,
    /// When the last attempt began.
    pub(super) attempt_began: f64,
    pub(super) turns: Vec<TurnWork>,
    /// Whether it waited for an answer when the turn began.
    pub(super) waits: bool,
    /// The last turn in which it, or a run below it, wrote something, and in which it was answered.
    executed_in: usize,
    answered_in: usize,
}

impl Tally {
    /// A run whose first event comes now, at `place`; the event before it came at `before`.
    pub(super) fn new(before: f64, place: usize) -> Self {
        Self { began: before, first: place, attempt_began: before, ..Self::default() }
    }

    /// Counts an event of the run, or of one below it.
    pub(super) fn count(&mut self, event: &Event, is_own: bool, place: usize, turn: usize, before: f64) {
        let time = event.timestamp();
        if self.executed_in == turn {
            if let Some(work) = self.turns.last_mut() {
                work.ended = Some(time);
            }
        } else {
            self.executed_in = turn;
            self.turns.push(TurnWork { turn, work: Work::Executed, began: Some(before), ended: Some(time) });
        }
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

    /// The run, or one below it, is answered.
    pub(super) fn answer(&mut self, turn: usize, place: usize, time: f64) {
        self.answered_in = turn;
        (self.ended, self.last) = (time, place);
    }

    /// Ends a turn in which the run may have written nothing.
    pub(super) fn end_turn(&mut self, turn: usize, waits: bool) {
        if self.executed_in != turn {
            let work = match (self.waits, self.answered_in == turn) {
                (_, true) => Work::Answered,
                (true, false) => Work::Waited,
                (false, false) => Work::Replayed,
            };
            self.turns.push(TurnWork { turn, work, began: None, ended: None });
        }
        self.waits = waits;
    }

    /// How long the run has executed, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.turns.iter().filter_map(|work| Some(work.ended? - work.began?)).map(|seconds| seconds.max(0.0)).sum()
    }
}
