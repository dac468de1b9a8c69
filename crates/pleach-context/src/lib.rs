//! The contracts of pleach: the context tree, and every trait that mentions it.
//!
//! This crate owns the interface of node code ([`Context`], [`State`], the parameters of handlers) and the contracts
//! that engines implement ([`Node`], [`NodeScheduler`](engine::NodeScheduler), [`Plugin`]). It runs nothing itself:
//! `pleach-workflow` drives nodes, and `pleach-runner` drives invocations.

mod abort;
mod agent;
mod clock;
mod compaction;
mod confirmation;
mod context;
mod credential;
mod dead_end;
pub mod engine;
mod error;
mod extract;
mod fence;
mod followers;
mod history;
mod invocation;
mod live_signals;
mod node;
mod node_end;
mod plugin;
mod pool;
mod renamed_tool;
mod retry;
mod run_config;
mod scheduler;
mod services;
mod session_state;
mod shared;
mod stable_uuid;
pub mod telemetry;
mod tool;
mod tool_result;
mod toolset;
mod work_gate;

pub use abort::AbortSignal;
pub use agent::{AgentMode, AgentSpec, Instruction, SecondParent, ShellKind};
pub use clock::SystemClock;
pub use confirmation::{ConfirmationRequest, ConfirmationTerms};
pub use context::{
    CallbackContext, Context, Key, ReadonlyContext, Select, SessionView, State, StateNumber, Step, ToolContext,
    json_schema_of,
};
pub use credential::{CredentialService, InMemoryCredentialService, SessionStateCredentialService};
pub use dead_end::DeadEnd;
pub use error::{ChildFailure, Fail, NodeError, Result, ResultExt};
pub use extract::fit;
pub use extract::{And, Answers, Extract, Feeds, FromContext, FromState, Input, Nothing, Resume, Shared, Takes, Wants};
pub use history::History;
pub use invocation::InvocationContext;
pub use node::{
    Confirmation, Decode, Dynamic, EdgeOutline, Flow, GraphOutline, InputKind, InputReader, Node, NodeFault, NodeInput,
    NodeKind, NodeSpec, Outline, Typed, TypedNode, Untyped, Yield,
};
pub use pleach_auth::AuthCredential;
pub use pleach_schema::{
    AnswerType, BadArgument, Field, Schema, coerce_arguments, exact_json, example_of, has_big_integer, has_big_number,
    json_or_text,
};
pub use pleach_session::effective_events_of;
pub use plugin::{Hook, Plugin};
pub use retry::{RetryCondition, RetryConfig};
pub use run_config::{RunConfig, StreamingMode};
pub use scheduler::RunOptions;
pub use shared::{NeededType, Provided};
pub use tool::{ModelDemand, Need, Tool};
pub use tool_result::{Scheduling, ToolResult};
pub use toolset::{SharedToolset, Toolset};
