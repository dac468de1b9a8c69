//! [`Context::blocking`]: runs a function that blocks its thread.

use super::Context;
use super::step::CURRENT;
use crate::NodeError;
use crate::pool::on_pool;

impl Context {
    /// Runs a function that blocks its thread (file access, computation, a synchronous client) on tokio's pool for
    /// blocking work, and returns its result.
    ///
    /// One task polls all nodes of an invocation. A node that blocks the thread delays all others, their timeouts and
    /// the abort of the run. The function runs in the span of the caller. Nothing is recorded: if a resume must not
    /// compute the result again, call this method in a [step](Context::step).
    ///
    /// # Errors
    /// A `RuntimeError` if the tokio runtime shuts down before the function has begun. A panic of the function
    /// continues in the caller, and becomes the error of its node.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop a function that has begun; its result is lost. A function that still waits for
    /// a thread never begins.
    pub async fn blocking<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> Result<T, NodeError> {
        let step = self.current_step();
        let call = move || match step {
            Some(step) => CURRENT.sync_scope(step, f),
            None => f(),
        };
        on_pool(call).await.ok_or_else(|| {
            NodeError::new("RuntimeError", format!("node '{}': the tokio runtime is shutting down", self.node_name()))
        })
    }
}
