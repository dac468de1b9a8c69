//! [`Declaration`]: what the builder of an agent was given.

use std::sync::Arc;

use pleach_context::{AgentSpec, Instruction, NodeSpec, Schema, SharedToolset, Tool};
use pleach_core::Content;
use pleach_model::GenerateConfig;

use super::callbacks::Callbacks;
use super::processors::Processor;
use crate::{CodeExecutor, Planner};

/// Which part of the session an agent's model gets. ADK: `LlmAgent.include_contents`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeContents {
    /// The conversation as far as the agent sees it.
    Default,
    /// The current turn only.
    None,
}

/// The declaration of an agent.
pub(crate) struct Declaration {
    pub(crate) spec: NodeSpec,
    pub(crate) agent: Arc<AgentSpec>,
    pub(crate) include_contents: Option<IncludeContents>,
    /// Whether thoughts of other agents are quoted.
    pub(crate) thoughts_of_others: bool,
    pub(crate) instruction: Option<Instruction>,
    pub(crate) static_instruction: Option<Content>,
    pub(crate) config: GenerateConfig,
    pub(crate) tools: Vec<ToolSource>,
    pub(crate) output_schema: Option<Schema>,
    pub(crate) output_key: Option<String>,
    pub(crate) callbacks: Callbacks,
    pub(crate) planner: Option<Arc<dyn Planner>>,
    pub(crate) code_executor: Option<Arc<dyn CodeExecutor>>,
    pub(crate) processors: Vec<Processor>,
}

/// Where tools come from.
pub(crate) enum ToolSource {
    Tool(Arc<dyn Tool>),
    Set(SharedToolset),
}

impl ToolSource {
    /// Returns the tool that was given as such.
    pub(crate) fn tool(&self) -> Option<&Arc<dyn Tool>> {
        match self {
            Self::Tool(tool) => Some(tool),
            Self::Set(_) => None,
        }
    }

    /// Returns the toolset.
    pub(crate) fn toolset(&self) -> Option<&SharedToolset> {
        match self {
            Self::Tool(_) => None,
            Self::Set(set) => Some(set),
        }
    }
}
