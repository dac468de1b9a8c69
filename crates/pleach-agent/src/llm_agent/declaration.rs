//! [`Declaration`]: the settings of an agent, as its builder received them.

use std::sync::Arc;

use pleach_context::{AgentSpec, Instruction, NodeSpec, Schema, SharedToolset, Tool};
use pleach_core::Content;
use pleach_model::GenerateConfig;

use super::callbacks::Callbacks;
use super::processors::Processor;
use crate::run::Outages;
use crate::{CodeExecutor, Planner};

/// The part of the session that is sent to an agent's model. ADK: `LlmAgent.include_contents`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeContents {
    /// The whole conversation, except events that are hidden from the agent.
    Default,
    /// Only the current turn.
    None,
}

/// The settings of an agent.
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
    pub(crate) outages: Outages,
}

/// A source of tools.
pub(crate) enum ToolSource {
    Tool(Arc<dyn Tool>),
    Set(SharedToolset),
}

impl ToolSource {
    /// Returns the tool, if the source is a single tool.
    pub(crate) fn tool(&self) -> Option<&Arc<dyn Tool>> {
        match self {
            Self::Tool(tool) => Some(tool),
            Self::Set(_) => None,
        }
    }

    /// Returns the toolset, if the source is a toolset.
    pub(crate) fn toolset(&self) -> Option<&SharedToolset> {
        match self {
            Self::Tool(_) => None,
            Self::Set(set) => Some(set),
        }
    }
}
