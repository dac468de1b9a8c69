//! [`AnswerDemand`]: the output schema that an agent requires of its model, checked before the model is called.

use std::fmt;
use std::sync::Arc;

use pleach_context::{AgentMode, AgentSpec, ModelDemand, Node, Schema};
use pleach_model::Model;
use smol_str::SmolStr;

/// The output schema that an agent requires of its model.
pub(crate) struct AnswerDemand {
    agent: SmolStr,
    schema: Schema,
    /// Whether the agent has tools. A model that cannot combine tools with a schema gets a tool for its answer instead.
    has_tools: bool,
    /// The model of the agent, or of the nearest agent above it that has one.
    model: Option<Arc<dyn Model>>,
}

impl AnswerDemand {
    /// Returns the demand of an agent that has a schema, unless the agent ends with a call instead of an answer.
    // L26
    pub(crate) fn of(
        agent: &AgentSpec,
        has_tools: bool,
        schema: Option<&Schema>,
        model: Option<Arc<dyn Model>>,
    ) -> Option<Self> {
        let schema = schema.filter(|_| agent.mode != Some(AgentMode::Task))?.clone();
        let has_tools = has_tools || called_agents(&agent.sub_agents).next().is_some();
        Some(Self { agent: agent.name.clone(), schema, has_tools, model })
    }
}

impl ModelDemand for AnswerDemand {
    fn unmet(&self, of_app: Option<&Arc<dyn Model>>) -> Option<String> {
        let model = self.model.as_ref().or(of_app)?;
        if self.has_tools && !model.capabilities().output_schema_and_tools {
            return None;
        }
        let error = model.check_output_schema(&self.schema.to_json()).err()?;
        Some(format!("the output schema of agent '{}' cannot be demanded: {error}", self.agent))
    }
}

impl fmt::Debug for AnswerDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerDemand").field("agent", &self.agent).field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Returns the agents that their parent calls like tools, each with its mode.
pub(crate) fn called_agents(agents: &[Arc<dyn Node>]) -> impl Iterator<Item = (&Arc<dyn Node>, AgentMode)> {
    agents.iter().filter_map(|node| match node.agent()?.mode {
        Some(mode @ (AgentMode::Task | AgentMode::SingleTurn)) => Some((node, mode)),
        _ => None,
    })
}
