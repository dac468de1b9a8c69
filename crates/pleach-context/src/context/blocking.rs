//! [`Context::blocking`].

use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use tokio::task::{JoinError, JoinHandle};
use tracing::Span;

use super::Context;
use super::step::CURRENT;
use crate::NodeError;

impl Context {
    /// Runs a function that blocks its thread (file access, computing, a synchronous client) on tokio's pool for such work, and
    /// gives what it returns.
    ///
    /// The nodes of an invocation are polled by one task: a node that blocks its thread holds up all others, their time-outs and
    /// the abort of the run. The function runs in the span of the caller. Nothing is recorded: for a result that a resume must
    /// not compute again, call it in a [step](Context::step).
    ///
    /// # Errors
    /// A `RuntimeError` when the tokio runtime shuts down before the function has begun. A panic of the function continues in
    /// the caller, and becomes the error of its node.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop a function that has begun; its result is lost. One that waits for a thread never begins.
    pub async fn blocking<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> Result<T, NodeError> {
        let (span, step) = (Span::current(), self.current_step());
        let call = move || span.in_scope(f);
        let call = tokio::task::spawn_blocking(move || match step {
            Some(step) => CURRENT.sync_scope(step, call),
            None => call(),
        });
        match AbortOnDrop(call).await.map_err(JoinError::try_into_panic) {
            Ok(value) => Ok(value),
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => {
                Err(NodeError::new("RuntimeError", format!("node '{}': the runtime shuts down", self.node_name())))
            }
        }
    }
}

/// A function on the pool, which does not begin when nothing waits for it any more.
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
