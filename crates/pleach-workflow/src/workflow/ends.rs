//! [`Ends`]: in which order the ends of runs are handled. Pure decisions over plain data.
//!
//! The order decides which trigger becomes which run, so a replay must take it again. What history tells to be complete
//! comes first, in its historical order; what is executed comes after it, in the order of its events, which is the one
//! that the next replay will see.
// R629, R1020

use std::cmp::Reverse;

use foldhash::HashMap;
use pleach_core::NodePath;

use crate::engine::{CompletionOrder, ReplayGate};

/// The ends of runs that an orchestrator has not handled yet.
#[derive(Debug)]
pub(super) struct Ends<T> {
    gate: ReplayGate<T>,
    /// Nested workflows that only replay so far, and when each of them completed, if it did.
    nested: HashMap<NodePath, u32>,
    /// Runs that wait, and so trigger nothing.
    waiting: Vec<T>,
    /// The last one comes first, once `sorted`.
    new: Vec<(CompletionOrder, u64, T)>,
    sorted: bool,
}

impl<T> Ends<T> {
    /// Starts with the times at which runs completed, as history tells.
    pub(super) fn new(times: Vec<u32>) -> Self {
        Self {
            gate: ReplayGate::new(times),
            nested: HashMap::default(),
            waiting: Vec::new(),
            new: Vec::new(),
            sorted: true,
        }
    }

    /// A run is answered from history.
    pub(super) fn replayed(&mut self, time: u32, end: T) {
        self.gate.hold(time, end);
    }

    /// A run waits for a person or for more.
    pub(super) fn waiting(&mut self, end: T) {
        self.waiting.push(end);
    }

    /// A nested workflow starts that may have completed at this time: its own replay will tell.
    pub(super) fn nested(&mut self, path: NodePath, time: u32) {
        self.nested.insert(path, time);
    }

    /// Something of a nested workflow is executed: it has not completed yet.
    pub(super) fn executes(&mut self, path: &NodePath) {
        if let Some(time) = self.nested.remove(path) {
            self.gate.pass(time);
        }
    }

    /// A nested workflow has ended without executing anything: when it completed the first time, if it `completes` now.
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

    /// A run that was executed has ended; `seq` is its place in the order of starts.
    pub(super) fn executed(&mut self, order: CompletionOrder, seq: u64, end: T) {
        self.new.push((order, seq, end));
        self.sorted = false;
    }

    /// Whether nested workflows have not shown yet whether they had completed.
    pub(super) fn is_unsure(&self) -> bool {
        !self.nested.is_empty()
    }

    /// Whether history has more to say.
    pub(super) fn is_replaying(&self) -> bool {
        self.gate.awaited().is_some()
    }

    /// When the run completed that everything held waits for, if anything is held.
    pub(super) fn stuck_at(&self) -> Option<u32> {
        self.gate.awaited().filter(|_| self.gate.is_holding())
    }

    /// Whether [`take`](Self::take) gives anything.
    pub(super) fn is_due(&self) -> bool {
        !self.waiting.is_empty() || self.gate.can_release() || (!self.new.is_empty() && !self.is_unsure())
    }

    /// Whether a run that completed at this time, and that history answers, comes next; if so, it counts as handled.
    pub(super) fn pass_next(&mut self, time: u32) -> bool {
        let next = self.waiting.is_empty() && !self.gate.is_holding() && self.gate.awaited() == Some(time);
        if next {
            self.gate.pass(time);
        }
        next
    }

    /// What comes next when history answers it and nothing stands before it.
    pub(super) fn next_replayed(&mut self) -> Option<T> {
        if self.waiting.is_empty() { self.gate.release() } else { None }
    }

    /// Moves what is to be handled next to `batch`.
    pub(super) fn take(&mut self, batch: &mut Vec<T>) {
        batch.append(&mut self.waiting);
        if let Some(end) = self.gate.release() {
            batch.push(end);
        }
        if !batch.is_empty() || self.is_unsure() {
            return;
        }
        self.sort();
        // What a new completion leads to may have completed before the other new ones.
        let kept = if self.is_replaying() { self.new.len().saturating_sub(1) } else { 0 };
        batch.extend(self.new.drain(kept..).rev().map(|(.., end)| end));
    }

    /// What else has ended, in its order, when nothing more will be waited for.
    pub(super) fn rest(&mut self) -> Vec<T> {
        self.sort();
        self.new.drain(..).rev().map(|(.., end)| end).collect()
    }

    fn sort(&mut self) {
        if !std::mem::replace(&mut self.sorted, true) {
            self.new.sort_unstable_by_key(|(order, seq, _)| Reverse((*order, *seq)));
        }
    }
}

#[cfg(test)]
mod tests;
