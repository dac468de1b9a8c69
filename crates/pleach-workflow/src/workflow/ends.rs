//! [`Ends`]: the order in which the ends of runs are handled. Pure decisions over plain data.
//!
//! The order decides which trigger becomes which run, so a replay must repeat it. Runs that are complete in history
//! come first, in their original order. Executed runs follow in the order of their events, which the next replay
//! sees.
// R629, R1020

use std::cmp::Reverse;
use std::collections::VecDeque;

use foldhash::HashMap;
use pleach_core::NodePath;

use crate::engine::{Executed, ReplayGate};

/// The ends of runs that a workflow has not handled yet. `F` is the end of an executed run, `T` any end.
#[derive(Debug)]
pub(super) struct Ends<T, F> {
    gate: ReplayGate<T>,
    /// Nested workflows that have only replayed so far, with their recorded completion times.
    nested: HashMap<NodePath, u32>,
    /// Runs that wait and therefore trigger nothing.
    waiting: Vec<T>,
    /// Executed runs; in reverse order if `sorted`.
    new: Vec<Executed<F>>,
    sorted: bool,
    /// The ends that are handled next, before the last `due` ones of `new`.
    chosen: VecDeque<T>,
    due: usize,
}

impl<T, F: Into<T>> Ends<T, F> {
    /// Starts with the completion times that history records.
    pub(super) fn new(times: Vec<u32>) -> Self {
        Self {
            gate: ReplayGate::new(times),
            nested: HashMap::default(),
            waiting: Vec::new(),
            new: Vec::new(),
            sorted: true,
            chosen: VecDeque::new(),
            due: 0,
        }
    }

    /// Adds a run that was answered from history.
    pub(super) fn replayed(&mut self, time: u32, end: T) {
        self.gate.hold(time, end);
    }

    /// Adds a run that waits for an answer or another trigger.
    pub(super) fn waiting(&mut self, end: T) {
        self.waiting.push(end);
    }

    /// Adds a nested workflow that starts and may have completed at `time`. Only its own replay shows whether it had.
    pub(super) fn nested(&mut self, path: NodePath, time: u32) {
        self.nested.insert(path, time);
    }

    /// Records that a nested workflow executes something, so it had not completed.
    pub(super) fn executes(&mut self, path: &NodePath) {
        if let Some(time) = self.nested.remove(path) {
            self.gate.pass(time);
        }
    }

    /// Records that a nested workflow has ended without executing anything. Returns its original completion time if it
    /// `completes` now.
    pub(super) fn nested_ended(&mut self, path: &NodePath, completes: bool) -> Option<u32> {
        if self.nested.is_empty() {
            return None;
        }
        let time = self.nested.remove(path)?;
        if !completes {
            self.gate.pass(time);
        }
        completes.then_some(time)
    }

    /// Adds an executed run that has ended.
    pub(super) fn executed(&mut self, run: Executed<F>) {
        self.new.push(run);
        self.sorted = false;
    }

    /// Adds executed runs that have ended. Thousands may end at once, so the vector is swapped in, and copied only if
    /// others are already pending.
    pub(super) fn all_executed(&mut self, runs: &mut Vec<Executed<F>>) {
        if runs.is_empty() {
            return;
        }
        if self.new.is_empty() {
            std::mem::swap(&mut self.new, runs);
        } else {
            self.new.append(runs);
        }
        self.sorted = false;
    }

    /// Returns `true` if nested workflows are still replaying, so that it is unknown whether they had completed.
    pub(super) fn is_unsure(&self) -> bool {
        !self.nested.is_empty()
    }

    /// Returns `true` if history has further completions.
    pub(super) fn is_replaying(&self) -> bool {
        self.gate.awaited().is_some()
    }

    /// If completions are held, returns the completion time of the run that they wait for.
    pub(super) fn stuck_at(&self) -> Option<u32> {
        self.gate.awaited().filter(|_| self.gate.is_holding())
    }

    /// Returns `true` if [`choose`](Self::choose) would choose anything.
    pub(super) fn is_due(&self) -> bool {
        !self.waiting.is_empty() || self.gate.can_release() || (!self.new.is_empty() && !self.is_unsure())
    }

    /// Returns `true` if a replayed run that completed at this time comes next, and then marks it as handled.
    pub(super) fn pass_next(&mut self, time: u32) -> bool {
        let next = self.waiting.is_empty() && !self.gate.is_holding() && self.gate.awaited() == Some(time);
        if next {
            self.gate.pass(time);
        }
        next
    }

    /// Takes the next completion if it is a replayed one.
    pub(super) fn next_replayed(&mut self) -> Option<T> {
        if self.waiting.is_empty() { self.gate.release() } else { None }
    }

    /// Chooses the ends to handle next; returns `true` if there are any.
    pub(super) fn choose(&mut self) -> bool {
        if !self.waiting.is_empty() {
            self.chosen.extend(self.waiting.drain(..));
        }
        if let Some(end) = self.gate.release() {
            self.chosen.push_back(end);
        }
        if self.chosen.is_empty() && !self.is_unsure() {
            self.sort();
            // While history has more completions, executed runs are handled one by one: history may have completed the
            // successors of one of them, which come before the other executed runs.
            self.due = if self.is_replaying() { self.new.len().min(1) } else { self.new.len() };
        }
        !self.chosen.is_empty() || self.due > 0
    }

    /// Takes the next of the chosen ends.
    pub(super) fn next_chosen(&mut self) -> Option<T> {
        if let Some(end) = self.chosen.pop_front() {
            return Some(end);
        }
        self.due = self.due.checked_sub(1)?;
        self.new.pop().map(|run| run.end.into())
    }

    /// Takes the remaining executed runs in their order, once the workflow waits for nothing more.
    pub(super) fn rest(&mut self) -> Vec<T> {
        self.sort();
        self.new.drain(..).rev().map(|run| run.end.into()).collect()
    }

    fn sort(&mut self) {
        if !std::mem::replace(&mut self.sorted, true) {
            self.new.sort_unstable_by_key(|run| Reverse((run.order, run.seq)));
        }
    }
}

#[cfg(test)]
mod tests;
