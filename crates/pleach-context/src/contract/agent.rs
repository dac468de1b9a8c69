//! What the runtime knows of an agent.

use std::sync::{Arc, Mutex, Weak};

use pleach_core::{BoxFuture, Map};
use pleach_model::Model;
use smol_str::SmolStr;

use super::{Node, ReadonlyContext, SharedToolset, Tool};
use crate::NodeError;

/// How an agent takes part in a conversation. ADK: `LlmAgent.mode`
// L180
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMode {
    /// It converses with the user, and may transfer to other agents.
    Chat,
    /// It works on a task, over several turns of the user if need be, until it calls `finish_task`.
    Task,
    /// It answers its input once, and sees nothing else of the session.
    SingleTurn,
}

/// How a shell agent runs its sub-agents.
// L175
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShellKind {
    /// One after the other. ADK: `SequentialAgent`
    Sequential,
    /// Again and again. ADK: `LoopAgent`
    Loop,
    /// At the same time. ADK: `ParallelAgent`
    Parallel,
}

/// What the runtime knows of an agent: its declaration, and its place in the tree of agents.
#[non_exhaustive]
pub struct AgentSpec {
    /// The agent's name.
    pub name: SmolStr,
    /// What the agent is for; other agents read it.
    pub description: String,
    /// The mode that the agent declares; see [`mode_below`](Self::mode_below).
    pub mode: Option<AgentMode>,
    /// The agents that this agent is the parent of.
    pub sub_agents: Vec<Arc<dyn Node>>,
    /// Whether a model decides what the agent does, so that it can transfer to others.
    pub is_llm: bool,
    /// Whether the agent may not transfer to its parent.
    pub disallow_transfer_to_parent: bool,
    /// Whether the agent may not transfer to its siblings.
    pub disallow_transfer_to_peers: bool,
    /// The agent's own model. Agents below that have none use it.
    pub model: Option<Arc<dyn Model>>,
    /// The instruction for all agents of a tree; only the root's counts.
    pub global_instruction: Option<Instruction>,
    /// The agent's own instruction.
    pub instruction: Option<Instruction>,
    /// The rule by which an agent without a model runs its sub-agents.
    pub shell: Option<ShellKind>,
    /// What else the agent declares, under google-adk's names in snake_case, such as `output_key`: for listings.
    pub settings: Map,
    /// The tools that the agent was given one by one. Those of toolsets are only known in an invocation.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The sources of further tools.
    pub toolsets: Vec<SharedToolset>,
    pub(crate) parent: Mutex<Weak<AgentSpec>>,
}

type Provider = dyn Fn(ReadonlyContext) -> BoxFuture<'static, Result<String, NodeError>> + Send + Sync;

/// What a model is asked to do and how to behave. ADK: `Union[str, InstructionProvider]`
// L10
#[derive(Clone)]
pub enum Instruction {
    /// A template: `{key}` is replaced by the value of the session state.
    Template(Arc<str>),
    /// A function that makes the text; its result is used as it is.
    Provider(Arc<Provider>),
}
