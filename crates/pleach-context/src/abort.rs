//! Asking an invocation to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A request to stop an invocation, given by its caller or one of its nodes. Clones share the request.
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
    /// A signal that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for the stop.
    pub fn abort(&self) {
        self.inner.set.store(true, Ordering::Release);
        self.inner.notify.notify_waiters();
    }

    /// Whether the stop was asked for.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.inner.set.load(Ordering::Acquire)
    }

    /// Waits until the stop is asked for.
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
