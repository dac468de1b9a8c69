//! [`AbortSignal`]: a request to stop an invocation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A request to stop an invocation, made by its caller or one of its nodes. Clones share the request.
///
/// ADK: `abort_signal`.
// R1130
#[derive(Clone, Debug, Default)]
pub struct AbortSignal {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    set: AtomicBool,
    notify: Notify,
}

impl AbortSignal {
    /// Returns a signal that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the invocation to stop.
    pub fn abort(&self) {
        self.inner.set.store(true, Ordering::Release);
        self.inner.notify.notify_waiters();
    }

    /// Returns true if the stop was requested.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.inner.set.load(Ordering::Acquire)
    }

    /// Waits until the stop is requested.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn aborted(&self) {
        loop {
            let notified = self.inner.notify.notified();
            if self.is_aborted() {
                return;
            }
            notified.await;
        }
    }
}
