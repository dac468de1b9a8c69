//! [`AgentSpec`]: the declaration of an agent and its place in the tree of agents. The runtime gets it from
//! [`Node::agent`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pleach_core::{BoxFuture, Map};
use pleach_model::Model;
use smol_str::SmolStr;

use crate::{Node, NodeError, ReadonlyContext, SharedToolset, Tool};

/// The way in which an agent takes part in a conversation. ADK: `LlmAgent.mode`
// L180
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMode {
    /// It converses with the user, and may transfer to other agents.
    Chat,
    /// It works on a task, over several turns of the user if necessary, until it calls `finish_task`.
    Task,
    /// It answers its input once, and sees nothing else of the session.
    SingleTurn,
}

/// The way in which a shell agent runs its sub-agents.
// L175
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShellKind {
    /// One after the other. ADK: `SequentialAgent`
    Sequential,
    /// In a loop. ADK: `LoopAgent`
    Loop,
    /// At the same time. ADK: `ParallelAgent`
    Parallel,
}

/// The declaration of an agent, and its place in the tree of agents.
#[non_exhaustive]
pub struct AgentSpec {
    /// The agent's name.
    pub name: SmolStr,
    /// The purpose of the agent; other agents read it.
    pub description: String,
    /// The mode that the agent declares; see [`mode_below`](Self::mode_below).
    pub mode: Option<AgentMode>,
    /// The agents whose parent this agent is.
    pub sub_agents: Vec<Arc<dyn Node>>,
    /// Whether a model decides what the agent does, so that it can transfer to others.
    pub is_llm: bool,
    /// Whether the agent may not transfer to its parent.
    pub disallow_transfer_to_parent: bool,
    /// Whether the agent may not transfer to its siblings.
    pub disallow_transfer_to_peers: bool,
    /// The agent's own model. Agents below it that have none use it.
    pub model: Option<Arc<dyn Model>>,
    /// The instruction for all agents of a tree; only the root agent's applies.
    pub global_instruction: Option<Instruction>,
    /// The agent's own instruction.
    pub instruction: Option<Instruction>,
    /// The way in which an agent without a model runs its sub-agents.
    pub shell: Option<ShellKind>,
    /// The other settings of the agent, under google-adk's names in snake_case, such as `output_key`; for listings.
    pub settings: Map,
    /// The agent's individual tools. The tools of toolsets are known only in an invocation.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The sources of further tools.
    pub toolsets: Vec<SharedToolset>,
    parent: Mutex<Weak<AgentSpec>>,
}

type Provider = dyn Fn(ReadonlyContext) -> BoxFuture<'static, Result<String, NodeError>> + Send + Sync;

/// An instruction for a model: its task, and how to behave. ADK: `Union[str, InstructionProvider]`
// L10
#[derive(Clone)]
pub enum Instruction {
    /// A template: `{key}` is replaced by the value of the session state.
    Template(Arc<str>),
    /// A function that makes the text. Its result is used unchanged.
    Provider(Arc<Provider>),
}

/// The error for an agent that would become the sub-agent of a second parent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "agent '{agent}' already is a sub-agent of '{parent}' and cannot also become one of '{second}': build another agent for it"
)]
pub struct SecondParent {
    /// The agent's name.
    pub agent: SmolStr,
    /// The name of the agent's parent.
    pub parent: SmolStr,
    /// The name of the agent that would be the second parent.
    pub second: SmolStr,
}

impl AgentSpec {
    /// Returns the specification of an agent without sub-agents.
    pub fn new(name: impl Into<SmolStr>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            mode: None,
            sub_agents: Vec::new(),
            is_llm: false,
            disallow_transfer_to_parent: false,
            disallow_transfer_to_peers: false,
            model: None,
            global_instruction: None,
            instruction: None,
            shell: None,
            settings: Map::new(),
            tools: Vec::new(),
            toolsets: Vec::new(),
            parent: Mutex::default(),
        }
    }

    /// Shares the specification, and makes its agent the parent of the sub-agents.
    ///
    /// # Errors
    /// A sub-agent that already has a parent.
    // L3
    pub fn share(self) -> Result<Arc<Self>, SecondParent> {
        let spec = Arc::new(self);
        for sub in spec.sub_agents.iter().filter_map(|node| node.agent()) {
            if let Some(parent) = sub.parent() {
                return Err(SecondParent {
                    agent: sub.name.clone(),
                    parent: parent.name.clone(),
                    second: spec.name.clone(),
                });
            }
            *sub.parent.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&spec);
        }
        Ok(spec)
    }

    /// Returns the parent of the agent, as long as the parent lives.
    pub fn parent(&self) -> Option<Arc<Self>> {
        self.parent.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    /// Returns the model of the agent, or of the nearest agent above that has one.
    // L5
    pub fn nearest_model(self: &Arc<Self>) -> Option<Arc<dyn Model>> {
        let mut agent = Arc::clone(self);
        loop {
            if let Some(model) = &agent.model {
                return Some(Arc::clone(model));
            }
            agent = agent.parent()?;
        }
    }

    /// Returns the mode of a run of the agent. An agent without a declared mode converses if it is the root of a Runner
    /// or has a parent, and otherwise answers once.
    // L6, L180
    pub fn mode_below(&self, is_root: bool) -> AgentMode {
        let converses = || is_root || self.parent().is_some();
        self.mode.unwrap_or_else(|| if converses() { AgentMode::Chat } else { AgentMode::SingleTurn })
    }

    /// Returns true if the agent converses as a node of a graph, where it waits for the user's next message.
    // L180
    pub fn converses(&self) -> bool {
        self.is_llm && self.mode_below(false) == AgentMode::Chat
    }

    /// Returns true if other agents run this one through a tool call. They cannot transfer to it.
    pub fn is_delegated(&self) -> bool {
        matches!(self.mode, Some(AgentMode::Task | AgentMode::SingleTurn))
    }

    /// Returns the sub-agent with this name.
    pub fn sub_agent(&self, name: &str) -> Option<&Arc<dyn Node>> {
        self.sub_agents.iter().find(|node| node.agent().is_some_and(|sub| sub.name == name))
    }
}

impl fmt::Debug for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subs: Vec<_> = self.sub_agents.iter().map(|node| &node.spec().name).collect();
        f.debug_struct("AgentSpec")
            .field("name", &self.name)
            .field("mode", &self.mode)
            .field("sub_agents", &subs)
            .finish_non_exhaustive()
    }
}

impl Instruction {
    /// Makes an instruction from an async function.
    pub fn provider<F, R>(provider: F) -> Self
    where
        F: Fn(ReadonlyContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, NodeError>> + Send + 'static,
    {
        Self::Provider(Arc::new(move |ctx| Box::pin(provider(ctx))))
    }
}

impl From<&str> for Instruction {
    fn from(text: &str) -> Self {
        Self::Template(text.into())
    }
}

impl From<String> for Instruction {
    fn from(text: String) -> Self {
        Self::Template(text.into())
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(text) => f.debug_tuple("Template").field(text).finish(),
            Self::Provider(_) => f.write_str("Provider"),
        }
    }
}
