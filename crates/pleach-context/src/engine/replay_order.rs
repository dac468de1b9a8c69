//! [`ReplayOrder`]: the original completion order of replayed children.
// R1020

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// A call for a replayed child: the completion time of the child, and the number of the call.
pub(crate) type CallKey = (u32, u64);

/// The calls for replayed children that wait for their place in the original completion order.
#[derive(Debug, Default)]
pub(crate) struct ReplayOrder {
    waiting: BTreeMap<CallKey, Waker>,
    /// The number of calls so far; distinguishes two calls for the same child.
    calls: u64,
    /// The calls that have been released and have not returned yet.
    released: BTreeSet<CallKey>,
}

impl ReplayOrder {
    /// Makes the key of a call for a child that completed at `time`.
    pub(crate) fn add(&mut self, time: u32) -> CallKey {
        self.calls += 1;
        (time, self.calls)
    }

    /// Returns `true` if a call was released. Otherwise `waker` is woken when it is.
    pub(crate) fn poll_released(&mut self, call: CallKey, waker: &Waker) -> bool {
        if self.released.contains(&call) {
            return true;
        }
        self.waiting.insert(call, waker.clone());
        false
    }

    /// Removes a call that has returned or was dropped.
    pub(crate) fn remove(&mut self, call: CallKey) {
        self.waiting.remove(&call);
        self.released.remove(&call);
    }

    /// Releases the waiting call whose child completed first.
    pub(crate) fn release_next(&mut self) -> Option<Waker> {
        let (call, waker) = self.waiting.pop_first()?;
        self.released.insert(call);
        Some(waker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1020_calls_are_released_in_the_order_of_completion() {
        let mut order = ReplayOrder::default();
        let calls = [7, 3, 5].map(|time| order.add(time));
        for call in calls {
            assert!(!order.poll_released(call, Waker::noop()));
        }
        order.remove(calls[2]);
        for call in [calls[1], calls[0]] {
            assert!(order.release_next().is_some());
            assert!(order.poll_released(call, Waker::noop()));
        }
        assert!(order.release_next().is_none());
    }
}
