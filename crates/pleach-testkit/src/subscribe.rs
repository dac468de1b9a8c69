//! [`subscribe`]: records what one test logs, beside tests of other threads.

use std::sync::LazyLock;

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

/// Registered for as long as the process runs. With a single subscriber, tracing asks only the thread that first reaches an event
/// whether anyone wants it, and remembers a no for all threads.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// Sets the subscriber of this thread until the guard is dropped. It gets every event of the thread, whichever tests run beside it.
#[must_use = "the subscriber is set until the guard is dropped"]
pub fn subscribe(subscriber: impl Into<Dispatch>) -> DefaultGuard {
    LazyLock::force(&ANOTHER);
    tracing::dispatcher::set_default(&subscriber.into())
}
