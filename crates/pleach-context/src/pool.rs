//! [`on_pool`]: runs a function on tokio's pool for blocking work.

use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use tokio::task::{JoinError, JoinHandle};
use tracing::Span;

/// Runs a function on tokio's pool for blocking work, in the span of the caller. A panic continues in the caller.
/// Returns `None` if the runtime shuts down before the function has begun.
///
/// # Cancel safety
/// Dropping the future does not stop a function that has begun. A function that still waits for a thread never begins.
pub async fn on_pool<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let span = Span::current();
    let call = tokio::task::spawn_blocking(move || span.in_scope(f));
    match AbortOnDrop(call).await.map_err(JoinError::try_into_panic) {
        Ok(value) => Some(value),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => None,
    }
}

/// A function on the pool. If this is dropped before the function has begun, the function never begins.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
