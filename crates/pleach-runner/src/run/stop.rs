//! [`StopSignal`]: asks a run to stop where it is.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use futures_util::task::AtomicWaker;

/// Asks a run to stop where it is, and wakes the run while it waits for its root node.
///
/// It is apart from the rest of the state because it is read at every step.
#[derive(Default)]
pub(crate) struct StopSignal {
    is_requested: AtomicBool,
    waiter: AtomicWaker,
}

impl StopSignal {
    pub(crate) fn request(&self) {
        self.is_requested.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Acquire)
    }

    /// Waits until the stop is requested. Only one task may wait at a time.
    pub(crate) async fn requested(&self) {
        poll_fn(|cx| {
            self.register(cx.waker());
            if self.is_requested() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Registers the task that waits. Only one task may wait at a time.
    pub(crate) fn register(&self, waker: &Waker) {
        self.waiter.register(waker);
    }

    /// Wakes the run, for example because a signal has arrived for it.
    pub(crate) fn wake(&self) {
        self.waiter.wake();
    }
}
