//! [`Context`]: one per node run, the API of node code.
//!
//! Contexts form a tree that mirrors the runs: children point at parents, never back, and all share one
//! [`InvocationContext`](crate::InvocationContext). Each file holds what a node's author calls for one purpose. What engines
//! call is in [`engine`](crate::engine).

mod actions;
mod artifacts;
mod ask;
mod background;
mod checks;
mod children;
mod credentials;
mod emit;
mod identity;
mod memory;
mod output;
mod readonly;
mod session_view;
mod state;
mod tool_call;

use std::fmt;
use std::sync::{Arc, MutexGuard, PoisonError};

pub use ask::json_schema_of;
pub use readonly::ReadonlyContext;
pub use session_view::SessionView;
pub use state::{Key, State, StateNumber};

pub(crate) use checks::{MAX_DEPTH, check_question_id, too_deep};

use crate::engine::{ContextInner, RunState};

/// The context of one node run. Cheap to clone: clones are the same run.
///
/// # Example
/// A handler that reads state, reports progress and asks a person. A node that asks in its body runs again when the answer
/// comes, so it is added with `rerun_on_resume(true)`.
/// ```
/// # use pleach_context::{Context, Input, NodeError};
/// # use pleach_core::Event;
/// async fn refund(ctx: Context, Input(cents): Input<i64>) -> Result<String, NodeError> {
///     let limit = ctx.state().try_get("app:refund_limit")?.unwrap_or(1_000);
///     if cents > limit && !ctx.ask::<bool>("approve", format!("Refund {cents}?")).await? {
///         return Ok("refused".to_owned());
///     }
///     ctx.emit(Event::message(format!("paying {cents}"))).await?;
///     ctx.state().add("app:refunded", cents)?;
///     Ok("paid".to_owned())
/// }
/// ```
///
/// ADK: `Context` (also `CallbackContext` and `ToolContext`).
// R201–R220
#[derive(Clone)]
pub struct Context {
    pub(crate) inner: Arc<ContextInner>,
}

impl Context {
    pub(crate) fn cell(&self) -> MutexGuard<'_, RunState> {
        // No user code runs under this lock, so a panic cannot leave the cell half-changed.
        self.inner.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("path", &self.inner.path)
            .field("attempt", &self.inner.attempt)
            .finish_non_exhaustive()
    }
}
