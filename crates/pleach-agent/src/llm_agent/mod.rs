//! [`LlmAgent`]: an agent whose model decides its steps.

mod builder;
pub(crate) mod callbacks;
mod declaration;
pub(crate) mod processors;

use std::fmt;
use std::sync::Arc;

use pleach_context::engine::RunHandle;
use pleach_context::{
    AgentSpec, Context, Dynamic, Flow, History, Need, Node, NodeError, NodeInput, NodeSpec, TypedNode,
};
use pleach_core::BoxFuture;
use smol_str::SmolStr;

use crate::demand::AnswerDemand;
use crate::run::AgentRun;
pub use builder::LlmAgentBuilder;
pub use declaration::IncludeContents;
pub(crate) use declaration::{Declaration, ToolSource};

/// An agent: a model with an instruction, tools, and other agents to transfer to. Clones are cheap and are the same
/// agent.
///
/// An agent is a node: it can be the root of a `Runner`, a node of a graph, a child of another node, or a sub-agent.
/// Every response of its model and every batch of tool results is an event, so a run that was cut off continues after
/// its last event. A call that has a response is never executed again.
///
/// ADK: `LlmAgent`
#[derive(Clone)]
pub struct LlmAgent(pub(crate) Arc<Declaration>);

impl LlmAgent {
    /// Returns a builder for an agent with this name.
    pub fn builder(name: impl Into<SmolStr>) -> LlmAgentBuilder {
        LlmAgentBuilder::new(name)
    }

    /// Returns the agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.agent.name
    }
}

impl Node for LlmAgent {
    fn spec(&self) -> &NodeSpec {
        &self.0.spec
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        let run = RunHandle::of(ctx);
        Box::pin(async move { AgentRun::new(&self.0, &run, input).run().await })
    }

    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        match path.split_first() {
            None => Some(&self.0.spec),
            Some((name, below)) => self.0.agent.sub_agents.iter().find(|sub| sub.spec().name == *name)?.spec_at(below),
        }
    }

    fn child(&self, name: &str) -> Option<&dyn Node> {
        self.0.agent.sub_agent(name).map(|sub| &**sub)
    }

    fn fits(&self, _: &pleach_core::NodePath, _: &History) -> Result<(), NodeError> {
        Ok(())
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        if self.0.agent.nearest_model().is_none() {
            needs.push(Need::Model(self.0.agent.name.clone()));
        }
        let Declaration { agent, tools, output_schema, .. } = &*self.0;
        let demand = AnswerDemand::of(agent, !tools.is_empty(), output_schema.as_ref(), agent.nearest_model());
        needs.extend(demand.map(|demand| Need::Demand(Arc::new(demand))));
        for source in tools {
            match source {
                ToolSource::Tool(tool) => tool.needs(needs),
                ToolSource::Set(set) => needs.push(Need::Toolset(set.clone())),
            }
        }
        self.0.agent.sub_agents.iter().for_each(|sub| sub.needs(needs));
    }

    fn has_completed(&self, ctx: &Context) -> bool {
        AgentRun::new(&self.0, &RunHandle::of(ctx.clone()), NodeInput::Null).has_completed()
    }

    fn agent(&self) -> Option<&Arc<AgentSpec>> {
        Some(&self.0.agent)
    }
}

impl TypedNode for LlmAgent {
    type In = Dynamic;
    type Out = Dynamic;
}

impl fmt::Debug for LlmAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmAgent").field("agent", &self.0.agent).finish_non_exhaustive()
    }
}
