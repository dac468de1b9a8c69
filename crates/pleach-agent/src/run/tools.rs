//! The tools that a request declares.
// L56–L58, L60, L65, L66

use std::sync::Arc;

use foldhash::HashMap;
use pleach_context::{AgentMode, AgentSpec, Node, NodeError, Tool};
use pleach_model::LlmRequest;
use smol_str::SmolStr;

use super::AgentRun;
use super::call_numbers::PendingCall;
use super::transfer::transfer_tool;
use crate::demand::called_agents;
use crate::guidance::{self, AgentProfile, FINISH_TASK, SET_MODEL_RESPONSE, Surroundings, TRANSFER_TO_AGENT};
use crate::llm_agent::ToolSource;
use crate::tools::{AnswerTool, FinishTool, SubAgentTool};

/// The tools of a request, by name.
#[derive(Default)]
pub(super) struct ToolTable {
    tools: HashMap<SmolStr, Arc<dyn Tool>>,
    /// The names of the tools in the order of declaration.
    names: Vec<SmolStr>,
    /// The agents that calls can delegate tasks to.
    tasks: Vec<Arc<dyn Node>>,
}

impl ToolTable {
    pub(super) fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns `true` if calls may delegate tasks.
    pub(super) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the agent that a call delegates a task to.
    pub(super) fn task_of(&self, pending: &PendingCall) -> Option<&Arc<dyn Node>> {
        let name = pending.call.name.as_deref()?;
        self.tasks.iter().find(|agent| agent.spec().name == name)
    }

    /// Returns `true` if the call is for a tool of the agent itself or for a sub-agent that answers at once.
    // L192
    pub(super) fn is_own(&self, pending: &PendingCall) -> bool {
        let name = pending.call.name.as_deref().unwrap_or_default();
        self.tools.contains_key(name) && ![TRANSFER_TO_AGENT, SET_MODEL_RESPONSE].contains(&name)
    }

    /// Returns the names of the tools in order, to tell a model that has called an unknown tool.
    pub(super) fn names(&self) -> String {
        if self.names.is_empty() { "none".to_owned() } else { self.names.join(", ") }
    }

    async fn add(
        &mut self,
        tool: Arc<dyn Tool>,
        request: &mut LlmRequest,
        run: &AgentRun<'_>,
    ) -> Result<(), NodeError> {
        tool.process_request(run.handle, request).await?;
        if tool.declaration().is_none() {
            return Ok(());
        }
        let name = SmolStr::from(tool.name());
        if self.tools.insert(name.clone(), tool).is_some() {
            let agent = &run.agent.agent.name;
            tracing::warn!(%agent, tool = %name, "the agent has several tools of this name: the last one is called");
        } else {
            self.names.push(name);
        }
        Ok(())
    }
}

impl AgentRun<'_> {
    /// Adds the function that returns the answer, for a model that does not support a schema together with tools.
    // L60
    pub(super) async fn add_answer_tool(
        &self,
        request: &mut LlmRequest,
        table: &mut ToolTable,
        has_both: bool,
    ) -> Result<(), NodeError> {
        let Some(schema) = &self.agent.output_schema else { return Ok(()) };
        if has_both || !self.has_tools() || self.mode == AgentMode::Task {
            return Ok(());
        }
        request.append_instructions([guidance::SET_MODEL_RESPONSE_GUIDANCE]);
        table.add(Arc::new(AnswerTool::new(schema)), request, self).await
    }

    /// Adds the transfer function, if there is an agent to transfer to.
    // L66
    pub(super) async fn add_transfer(&self, request: &mut LlmRequest, table: &mut ToolTable) -> Result<(), NodeError> {
        let spec = &self.agent.agent;
        let parent = spec.parent().filter(|parent| parent.is_llm);
        if spec.sub_agents.is_empty() && parent.is_none() {
            return Ok(());
        }
        let around = surroundings(spec, parent.as_deref());
        let targets = guidance::transfer_targets(&spec.name, &around);
        if targets.is_empty() {
            return Ok(());
        }
        if self.mode != AgentMode::Task && !self.is_single_turn {
            // The text names the parent even if it has no model and is therefore not a target.
            let parent = spec.parent().filter(|_| !spec.disallow_transfer_to_parent);
            request.append_instructions([guidance::transfer(&targets, parent.as_ref().map(|parent| &*parent.name))]);
        }
        table.add(transfer_tool(&targets), request, self).await
    }

    /// Adds the agent's tools, its toolsets' tools, and the sub-agents that are called like tools.
    // L56, L57
    pub(super) async fn add_tools(&self, request: &mut LlmRequest, table: &mut ToolTable) -> Result<(), NodeError> {
        for source in &self.agent.tools {
            let set = match source {
                ToolSource::Tool(tool) => {
                    table.add(Arc::clone(tool), request, self).await?;
                    continue;
                }
                ToolSource::Set(set) => set,
            };
            match set.tools(self.handle).await {
                Ok(tools) => {
                    if self.agent.outages.end(set.name()) {
                        tracing::info!(agent = %self.agent.agent.name, toolset = set.name(), "the toolset is back");
                    }
                    set.process_request(self.handle, request).await?;
                    for tool in &*tools {
                        // A toolset's tool must not replace a tool of the agent with the same name.
                        if table.get(tool.name()).is_some() || self.has_own_tool(tool.name()) {
                            let (agent, tool) = (&self.agent.agent.name, tool.name());
                            tracing::warn!(%agent, toolset = set.name(), %tool, "the name is already in use: the tool of the toolset is left out");
                            continue;
                        }
                        table.add(Arc::clone(tool), request, self).await?;
                    }
                }
                Err(error) if set.is_required() => {
                    let (agent, toolset, cause) = (&self.agent.agent.name, set.name(), error.message());
                    return Err(NodeError::new(
                        "ToolsetError",
                        format!(
                            "agent '{agent}' does not run without the toolset '{toolset}', which failed to list its tools: {cause}"
                        ),
                    ));
                }
                Err(error) => {
                    let (agent, toolset) = (&self.agent.agent.name, set.name());
                    if self.agent.outages.begin(toolset) {
                        tracing::error!(%agent, toolset, %error, "the toolset is left out: the agent runs without its tools");
                    } else {
                        tracing::debug!(%agent, toolset, %error, "the toolset is still left out");
                    }
                }
            }
        }
        if self.mode == AgentMode::Task {
            table.add(Arc::new(self.finish_tool()), request, self).await?;
        }
        for (agent, mode) in called_agents(&self.agent.agent.sub_agents) {
            if mode == AgentMode::Task {
                table.tasks.push(Arc::clone(agent));
            }
            table.add(Arc::new(SubAgentTool::new(agent, mode)), request, self).await?;
        }
        Ok(())
    }

    fn has_own_tool(&self, name: &str) -> bool {
        let is_sub_agent = || called_agents(&self.agent.agent.sub_agents).any(|(agent, _)| agent.spec().name == name);
        self.agent.tools.iter().any(|source| matches!(source, ToolSource::Tool(tool) if tool.name() == name))
            || is_sub_agent()
            || (name == FINISH_TASK && self.mode == AgentMode::Task)
    }

    pub(super) fn finish_tool(&self) -> FinishTool {
        FinishTool::new(self.agent.output_schema.as_ref())
    }

    /// Returns `true` if the agent has tools other than those for answers, tasks and transfers.
    pub(super) fn has_tools(&self) -> bool {
        !self.agent.tools.is_empty() || called_agents(&self.agent.agent.sub_agents).next().is_some()
    }
}

fn surroundings<'s>(spec: &'s AgentSpec, parent: Option<&'s AgentSpec>) -> Surroundings<'s> {
    Surroundings {
        sub_agents: profiles(spec),
        parent: parent.map(profile),
        siblings: parent.map(profiles).unwrap_or_default(),
        disallow_transfer_to_parent: spec.disallow_transfer_to_parent,
        disallow_transfer_to_peers: spec.disallow_transfer_to_peers,
    }
}

fn profiles(spec: &AgentSpec) -> Vec<AgentProfile<'_>> {
    spec.sub_agents.iter().filter_map(|sub| sub.agent()).map(|sub| profile(sub)).collect()
}

fn profile(spec: &AgentSpec) -> AgentProfile<'_> {
    AgentProfile { name: &spec.name, description: &spec.description, is_delegated: spec.is_delegated() }
}
