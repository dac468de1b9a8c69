//! [`Context`]: one per node run, the API of node code.
//!
//! Contexts form a tree that mirrors the runs: children point at their parents, never the reverse, and all share one
//! [`InvocationContext`](crate::InvocationContext). Each file holds the methods that a node's author calls for one
//! purpose. The methods for engines are in [`engine`](crate::engine).

mod actions;
mod artifacts;
mod ask;
mod background;
mod blocking;
mod checks;
mod children;
mod credentials;
mod emit;
mod idempotency;
mod identity;
mod memory;
mod output;
mod readonly;
mod select;
mod session_view;
mod state;
mod step;
mod time;
mod tool_call;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use pleach_core::{Content, Map, NodePath};
use smol_str::SmolStr;

use crate::engine::{
    ChildCounters, GraphNames, GraphPosition, InvocationHandle, LatestTicket, OwnLane, RunHandle, RunState,
};
use crate::{NodeKind, RetryConfig, Schema};

pub use ask::json_schema_of;
pub use readonly::ReadonlyContext;
pub use select::Select;
pub use session_view::SessionView;
pub use state::{Key, State, StateNumber};
pub(crate) use state::{check_open, delta_of, unreadable};
pub use step::Step;

/// The context of one node run. Cheap to clone: clones are the same run.
///
/// # Example
/// A handler that reads state, reports progress and asks a person. A node that asks in its body runs again when the
/// answer arrives, so it is added with `rerun_on_resume(true)`.
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
    /// The call within the run to which this context belongs; `None` for the body.
    pub(crate) lane: Option<Arc<OwnLane>>,
}

/// The fixed part of a context, and its [`RunState`].
pub(crate) struct ContextInner {
    pub(crate) invocation: InvocationHandle,
    pub(crate) parent: Option<RunHandle>,
    pub(crate) path: NodePath,
    pub(crate) name: SmolStr,
    pub(crate) author: SmolStr,
    pub(crate) child_author: Option<SmolStr>,
    pub(crate) kind: NodeKind,
    pub(crate) rerun_on_resume: bool,
    pub(crate) attempt: u32,
    /// The policy for retries of the run.
    pub(crate) retry: Option<Arc<RetryConfig>>,
    /// The number of runs above this one.
    pub(crate) depth: u32,
    pub(crate) output_schema: Option<Schema>,
    pub(crate) state_schema: Option<Schema>,
    pub(crate) resume_inputs: Option<Arc<Map>>,
    pub(crate) position: Option<GraphPosition>,
    /// Whether the run, or a run above it, is a background child.
    pub(crate) background: bool,
    /// See [`ChildSetup::answers_for`](crate::engine::ChildSetup::answers_for).
    pub(crate) answers_for: Option<Arc<[NodePath]>>,
    pub(crate) graph: OnceLock<Arc<GraphNames>>,
    pub(crate) output_for: Option<Arc<[NodePath]>>,
    pub(crate) is_delegate: bool,
    /// The number of children of each name that earlier attempts of this run have started.
    pub(crate) earlier_children: Option<Box<ChildCounters>>,
    /// The task that the run works on. It replaces the user's message for the run and the runs below it.
    pub(crate) task: OnceLock<Box<Content>>,
    /// The last event of the run or of a run below it.
    pub(crate) last_event: LatestTicket,
    pub(crate) cell: Mutex<RunState>,
}

/// The context of a tool call. It is the context of the run that makes the call. ADK: `ToolContext`.
pub type ToolContext = Context;

/// The context of a callback. It is the context of the agent's run. ADK: `CallbackContext`.
pub type CallbackContext = Context;

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("path", &self.inner.path)
            .field("attempt", &self.inner.attempt)
            .finish_non_exhaustive()
    }
}
