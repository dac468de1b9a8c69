//! [`subscribe`]: records the log of one test, while tests run in other threads.

use std::sync::LazyLock;

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

/// A second subscriber, registered for the whole process. With a single subscriber, tracing asks only the thread that
/// first reaches an event whether anyone wants it, and remembers a negative answer for all threads.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// Sets the subscriber of this thread until the guard is dropped. It receives every event of the thread, whichever
/// tests run at the same time.
#[must_use = "the subscriber is set until the guard is dropped"]
pub fn subscribe(subscriber: impl Into<Dispatch>) -> DefaultGuard {
    LazyLock::force(&ANOTHER);
    tracing::dispatcher::set_default(&subscriber.into())
}
