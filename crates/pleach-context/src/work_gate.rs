//! [`WorkGate`]: holds node bodies back until their run has the session to itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use pleach_core::NodePath;

/// Holds node bodies back until their run has the session to itself; open unless the Runner closes it.
///
/// A resume that begins with a body has stored nothing yet, so it cannot know whether another writer came first. The
/// engine asks before each body. When the first body asks, the Runner claims the session and opens the gate. Replayed
/// runs do not pass the gate, so a resume that runs nothing claims nothing.
#[derive(Debug, Default)]
pub struct WorkGate {
    closed: AtomicBool,
    replays_only: AtomicBool,
    has_assumed_end: AtomicBool,
    waiting: Mutex<Vec<Waiting>>,
}

/// A waiting body.
#[derive(Debug)]
struct Waiting {
    run: NodePath,
    /// Whether the body's node yields results.
    yields_results: bool,
    waker: Waker,
}

impl WorkGate {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns ready if the body of the run at `path` may run; otherwise `cx` is woken once it may. `yields_results`
    /// is true if its node yields results. For engines.
    pub fn poll_pass(&self, path: &NodePath, yields_results: bool, cx: &TaskContext<'_>) -> Poll<()> {
        if !self.closed.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting();
        // The gate may have been opened before the lock was taken.
        if !self.closed.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        waiting.push(Waiting { run: path.clone(), yields_results, waker: cx.waker().clone() });
        Poll::Pending
    }

    /// Returns true if bodies are held back. Runs that end in this state were only replayed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns true if a body waits.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.closed.load(Ordering::Acquire) && !self.waiting().is_empty()
    }

    /// Returns the runs whose bodies wait, each with whether its node yields results.
    #[must_use]
    pub fn wanted(&self) -> Vec<(NodePath, bool)> {
        self.waiting().iter().map(|waiting| (waiting.run.clone(), waiting.yields_results)).collect()
    }

    /// Holds back every body from now on. For the Runner, before any body runs.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Holds back every body permanently: the invocation is replayed to find its recorded result, and none of its
    /// bodies run.
    pub fn close_for_replay(&self) {
        self.replays_only.store(true, Ordering::Release);
        self.close();
    }

    /// Returns `true` if the invocation is only replayed.
    #[must_use]
    pub fn replays_only(&self) -> bool {
        self.replays_only.load(Ordering::Acquire)
    }

    /// Records that a replay has treated a run as done although a hook may still be called after it.
    pub fn note_assumed_end(&self) {
        self.has_assumed_end.store(true, Ordering::Release);
    }

    /// Returns `true` if a replay has treated a run as done although a hook may still be called after it.
    #[must_use]
    pub fn has_assumed_end(&self) -> bool {
        self.has_assumed_end.load(Ordering::Acquire)
    }

    /// Lets all bodies pass.
    pub fn open(&self) {
        if !self.closed.load(Ordering::Acquire) {
            return;
        }
        let waiting = {
            let mut waiting = self.waiting();
            self.closed.store(false, Ordering::Release);
            std::mem::take(&mut *waiting)
        };
        waiting.into_iter().for_each(|waiting| waiting.waker.wake());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_holds_bodies_back_until_it_is_opened() {
        let (gate, cx) = (WorkGate::default(), TaskContext::from_waker(Waker::noop()));
        assert!(gate.poll_pass(&NodePath::from("n@1"), true, &cx).is_ready());
        gate.close();
        assert!(!gate.is_wanted());
        assert!(gate.poll_pass(&NodePath::from("n@1"), true, &cx).is_pending());
        assert!(gate.is_wanted());
        gate.open();
        assert!(!gate.is_wanted());
        assert!(gate.poll_pass(&NodePath::from("n@1"), true, &cx).is_ready());
    }
}
