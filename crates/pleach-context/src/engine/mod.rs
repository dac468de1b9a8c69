//! The interface for engines and the Runner. Node code cannot call it.
//!
//! Node code has a [`Context`] and an [`InvocationContext`]. Engines have handles, which own what node code can only
//! view:
//!
//! - [`RunHandle`] drives one run: it makes the contexts of children and of further attempts, stages and delivers
//!   events, records caught failures, orders replayed children, and takes the outcome.
//! - [`InvocationHandle`] provides access to an invocation's queue, services and history.
//! - [`HistoryHandle`] keeps plans and completions in a history.
//!
//! A node body gets a context. An engine's body makes its handle once, with [`RunHandle::of`], and keeps it. Hooks,
//! callbacks and tools only borrow the context. A context returns no handle, and the facade does not export this
//! module, so a handler cannot take an event from the queue, record one, or set the history.
//!
//! The state of a run is behind a lock. Each call takes the lock, and never holds it across an await.

mod background;
mod caught;
mod claimed_signal;
mod history;
mod invocation;
mod lane;
mod outcome;
mod parking;
mod position;
mod progress;
mod replay_order;
mod replayed_child;
mod run_state;
mod sending;
mod tool_call;
mod tree;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::{Context, InvocationContext};

pub use background::asked_in_background;
pub use history::HistoryHandle;
pub use invocation::UnstoredState;
pub use lane::LaneSetup;
pub use parking::{WaitReason, WorkingLane};
pub use position::{GraphNames, GraphPosition};
pub use sending::{EventQueue, SentEvent, Ticket};
pub use tool_call::ToolRequests;
pub use tree::ChildSetup;

pub use crate::compaction::{Prompt, PromptCompaction};
pub use crate::credential::{
    KeptCredentials, SentCredential, TakenCredentials, accept_credential, credential_question, sent_credential,
};
pub use crate::error::WORKFLOW_CHANGED;
pub use crate::fence::Fence;
pub use crate::history::{
    AnswerState, PlannedRun, PlannedRuns, RecordedRun, ReplayState, RunKey, RunRecord, caller_of_task, completed_runs,
    is_reported, mark_completed, mark_reported, mark_task_response, round_of,
};
pub use crate::invocation::InvocationSetup;
pub use crate::live_signals::StoringSignal;
pub use crate::node_end::{NodeEnd, NodeResult, RunResult};
pub use crate::plugin::PluginManager;
pub use crate::pool::on_pool;
pub use crate::scheduler::{BackgroundChild, NodeScheduler};
pub use crate::services::Services;
pub use crate::stable_uuid::stable_uuid;
pub use crate::work_gate::WorkGate;
pub use pleach_auth::{credential_key, drop_shown_credentials};

pub(crate) use claimed_signal::ClaimedSignal;
pub(crate) use parking::InFlightCall;
pub(crate) use run_state::{
    AgentPart, ChildCounters, Lane, LaneWork, Output, OutputSource, OwnLane, RunState, Transfer, output_twice,
};
pub(crate) use sending::{LatestTicket, NotePolicy, Sending, check_reserved, question_event};
pub(crate) use tree::{MAX_DEPTH, too_deep};

/// The engine's handle of one node run. It dereferences to the [`Context`] that node code sees. It is cheap to clone,
/// and all clones are the same run.
///
/// # Example
/// The body of a node that belongs to an engine. Hooks and tools borrow the context.
/// ```
/// # use pleach_context::engine::RunHandle;
/// # use pleach_context::{Context, Flow, NodeError, Tool};
/// # use pleach_core::Map;
/// async fn call(tool: &dyn Tool, ctx: Context) -> Result<Flow, NodeError> {
///     let run = RunHandle::of(ctx);
///     run.begin_tool_call("call-1");
///     let result = tool.run(&Map::new(), run.context()).await?;
///     let asked = run.take_tool_requests();
///     assert!(asked.confirmation.is_none(), "the tool requests a confirmation");
///     Ok(Flow::output(result.value))
/// }
/// ```
#[derive(Clone)]
pub struct RunHandle {
    pub(crate) ctx: Context,
}

/// The handle of an invocation, for engines and the Runner. It dereferences to the [`InvocationContext`] that node code
/// sees.
#[derive(Clone)]
pub struct InvocationHandle {
    pub(crate) ic: Arc<InvocationContext>,
}

impl RunHandle {
    /// Returns the handle of the run whose context a body received. Call it once, where the body begins, and keep the
    /// handle.
    #[must_use]
    pub fn of(ctx: Context) -> Self {
        Self { ctx }
    }

    /// Returns the root of an invocation's tree of runs. The root runs nothing itself and has no path.
    #[must_use]
    pub fn root(invocation: InvocationHandle) -> Self {
        Self { ctx: Context::root(invocation) }
    }

    /// Returns the context, for node code.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.ctx
    }

    /// Returns the invocation that the run belongs to.
    #[must_use]
    pub fn invocation(&self) -> &InvocationHandle {
        &self.ctx.inner.invocation
    }
}

impl Deref for RunHandle {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}

impl Deref for InvocationHandle {
    type Target = InvocationContext;

    fn deref(&self) -> &InvocationContext {
        &self.ic
    }
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunHandle").field(&self.ctx).finish()
    }
}

impl fmt::Debug for InvocationHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InvocationHandle").field(&self.ic).finish()
    }
}
