//! The function that a model calls to transfer to another agent.
// L66, L140

use std::sync::Arc;

use pleach_context::{NodeError, Tool, ToolContext};
use pleach_workflow::{Args, FunctionTool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::guidance::{AgentProfile, TRANSFER_TO_AGENT, transfer_declaration};

#[derive(Deserialize, JsonSchema)]
struct Target {
    agent_name: String,
}

/// Builds the transfer tool. The target is looked up after the agent has ended.
pub(super) fn transfer_tool(targets: &[AgentProfile<'_>]) -> Arc<dyn Tool> {
    let declared = transfer_declaration(targets);
    let tool = FunctionTool::new(TRANSFER_TO_AGENT, declared.description.unwrap_or_default(), transfer);
    Arc::new(tool.parameters(declared.parameters_json_schema.unwrap_or_default()))
}

async fn transfer(Args(target): Args<Target>, ctx: ToolContext) -> Result<Value, NodeError> {
    ctx.with_actions(|actions| actions.set_transfer_to_agent(Some(target.agent_name)))?;
    Ok(Value::Null)
}
