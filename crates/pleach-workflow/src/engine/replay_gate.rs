//! [`ReplayGate`]: releases replayed completions in their original order.
// R1020

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Releases the completed runs of one orchestrator in their original order.
///
/// Only runs that are complete in history have a position in the order. Executed runs complete after all of them.
#[derive(Debug)]
pub(crate) struct ReplayGate<T> {
    /// The completion times, sorted.
    times: Vec<u32>,
    passed: Vec<bool>,
    /// The index of the first run that has not passed.
    next: usize,
    held: BinaryHeap<Held<T>>,
}

/// A held completion. The earliest one is the greatest, because the heap returns the greatest first.
#[derive(Debug)]
struct Held<T> {
    time: u32,
    completion: T,
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.cmp(&self.time)
    }
}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.time == other.time
    }
}

impl<T> Eq for Held<T> {}

impl<T> ReplayGate<T> {
    /// Returns a gate for runs that completed at these times.
    pub(crate) fn new(mut times: Vec<u32>) -> Self {
        times.sort_unstable();
        Self { passed: vec![false; times.len()], times, next: 0, held: BinaryHeap::new() }
    }

    /// Adds a completion.
    pub(crate) fn hold(&mut self, time: u32, completion: T) {
        self.held.push(Held { time, completion });
    }

    /// Marks the run that completed at this time as passed: it was released, or it will not complete as recorded.
    pub(crate) fn pass(&mut self, time: u32) {
        let rest = &self.times[self.next..];
        let index = if rest.first() == Some(&time) { Ok(0) } else { rest.binary_search(&time) };
        if let Ok(index) = index {
            self.passed[self.next + index] = true;
        }
        while self.passed.get(self.next).copied().unwrap_or(false) {
            self.next += 1;
        }
    }

    /// Returns `true` if [`release`](Self::release) would return a completion.
    pub(crate) fn can_release(&self) -> bool {
        let awaited = self.awaited();
        self.held.peek().is_some_and(|held| awaited.is_none_or(|awaited| held.time <= awaited))
    }

    /// Releases the next completion, unless an earlier one is still missing.
    pub(crate) fn release(&mut self) -> Option<T> {
        if !self.can_release() {
            return None;
        }
        let Held { time, completion } = self.held.pop()?;
        self.pass(time);
        Some(completion)
    }

    /// Returns `true` if completions are held.
    pub(crate) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the completion time of the next run in the order.
    pub(crate) fn awaited(&self) -> Option<u32> {
        self.times.get(self.next).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1020_completions_pass_in_their_order() {
        let mut gate = ReplayGate::new(vec![7, 3, 5]);
        gate.hold(7, "c");
        gate.hold(5, "b");
        assert_eq!(gate.release(), None);
        gate.hold(3, "a");
        for name in ["a", "b", "c"] {
            assert_eq!(gate.release(), Some(name));
        }
        assert!(!gate.is_holding() && gate.awaited().is_none());
    }

    #[test]
    fn r1020_no_completion_waits_for_a_run_that_is_executed_again() {
        let mut gate = ReplayGate::new(vec![3, 5]);
        gate.hold(5, "b");
        assert_eq!((gate.release(), gate.awaited()), (None, Some(3)));
        gate.pass(3);
        assert_eq!(gate.release(), Some("b"));
    }
}
