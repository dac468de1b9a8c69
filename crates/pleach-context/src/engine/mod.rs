//! What engines and the Runner call, and node code cannot.
//!
//! Node code has a [`Context`] and an [`InvocationContext`]. With [`Engine`] in scope, both also give a handle. The handle of a
//! context drives its run: it makes the contexts of children and attempts, stages and delivers events, records failures that were
//! caught, orders replayed children, and takes the outcome. The handle of an invocation gives the queue, the services and the
//! history; the handle of a history keeps plans and completions in it. The facade does not export this module, so a handler cannot take an event from the queue, record one, or set the
//! history.
//!
//! The state of a run is behind a lock that each call takes and that is never held across an await.

mod background;
mod caught;
mod claimed_signal;
mod deliver;
mod deltas;
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
mod stage;
mod tool_call;
mod tree;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::{Context, InvocationContext};

pub use background::asked_in_background;
pub use history::HistoryHandle;
pub use lane::LaneSetup;
pub use parking::{WaitReason, WorkingLane};
pub use position::{GraphNames, GraphPosition};
pub use run_state::OutputSource;
pub use stage::Staged;
pub use tool_call::ToolRequests;
pub use tree::ChildSetup;

pub use crate::compaction::{Prompt, PromptCompaction};
pub use crate::contract::{InvocationSetup, NodeScheduler, PluginManager, Services};
pub use crate::credential::{
    KeptCredentials, SentCredential, TakenCredentials, accept_credential, credential_question, sent_credential,
};
pub use crate::error::WORKFLOW_CHANGED;
pub use crate::fence::Fence;
pub use crate::history::{
    AnswerState, PlannedRun, PlannedRuns, RecordedRun, ReplayState, RunKey, RunRecord, caller_of_task, completed_runs,
    is_reported, mark_completed, mark_reported, mark_task_response, round_of,
};
pub use crate::live_signals::StoringSignal;
pub use crate::node_end::{NodeEnd, NodeResult, RunResult};
pub use crate::pool::on_pool;
pub use crate::queue::{EventQueue, Ticket};
pub use crate::scheduler::BackgroundChild;
pub use crate::stable_uuid::stable_uuid;
pub use crate::work_gate::WorkGate;
pub use pleach_auth::{credential_key, drop_shown_credentials};

pub(crate) use claimed_signal::ClaimedSignal;
pub(crate) use deliver::Sending;
pub(crate) use parking::InFlightCall;
pub(crate) use run_state::{
    AgentPart, ChildCounters, Lane, LaneWork, Output, OwnLane, RunState, Transfer, output_twice,
};
pub(crate) use stage::{Notes, check_reserved, question_event};
pub(crate) use tree::{MAX_DEPTH, too_deep};

/// Gives the engine's handle of what node code sees.
pub trait Engine: sealed::Sealed {
    /// The handle.
    type Handle<'a>
    where
        Self: 'a;

    /// Returns the engine's handle.
    fn engine(&self) -> Self::Handle<'_>;
}

/// What an engine does with one node run.
#[derive(Clone, Copy)]
pub struct RunHandle<'a>(pub(crate) &'a Context);

/// What engines and the Runner do with an invocation. It dereferences to what node code sees.
#[derive(Clone)]
pub struct InvocationHandle {
    pub(crate) ic: Arc<InvocationContext>,
}

/// Returns the root of an invocation's tree of contexts: it runs nothing itself, and has no path.
#[must_use]
pub fn root_context(invocation: InvocationHandle) -> Context {
    Context::root(invocation)
}

impl Engine for Context {
    type Handle<'a> = RunHandle<'a>;

    fn engine(&self) -> RunHandle<'_> {
        RunHandle(self)
    }
}

impl Deref for InvocationHandle {
    type Target = InvocationContext;

    fn deref(&self) -> &InvocationContext {
        &self.ic
    }
}

impl fmt::Debug for RunHandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunHandle").field(self.0).finish()
    }
}

impl fmt::Debug for InvocationHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InvocationHandle").field(&self.ic).finish()
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Context {}
    impl Sealed for crate::History {}
}
