//! The route that describes the agents of an app.
// H24

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use pleach_context::{AgentSpec, Instruction, Node, Tool};
use pleach_core::{Map, to_camel};
use serde_json::{Value, json};

use super::service::APP_LANGUAGE;
use crate::api::Api;
use crate::error::ApiError;
use crate::json::plain;
use crate::path::AppPath;

pub(super) async fn app_info(State(api): State<Arc<Api>>, AppPath(app): AppPath) -> Result<Response, ApiError> {
    let root = api.runner(&app)?.root();
    let agent = llm_agent(&**root).ok_or_else(|| ApiError::bad_request("Root agent is not an LlmAgent"))?;
    let mut agents = Map::new();
    describe_tree(agent, &mut agents);
    Ok(plain(&json!({
        "name": app,
        "rootAgentName": agent.name.as_str(),
        "description": agent.description,
        "language": APP_LANGUAGE,
        "isComputerUse": false,
        "agents": agents,
    })))
}

fn llm_agent(node: &dyn Node) -> Option<&AgentSpec> {
    node.agent().map(|agent| &**agent).filter(|agent| agent.is_llm)
}

/// Describes an agent and the agents below it.
fn describe_tree(agent: &AgentSpec, agents: &mut Map) {
    let sub_agents: Vec<&AgentSpec> = agent.sub_agents.iter().filter_map(|sub| llm_agent(&**sub)).collect();
    for sub in &sub_agents {
        if !agents.contains_key(sub.name.as_str()) {
            describe_tree(sub, agents);
        }
    }
    let names: Vec<&str> = sub_agents.iter().map(|sub| sub.name.as_str()).collect();
    let described = json!({
        "name": agent.name.as_str(),
        "description": agent.description,
        "instruction": instruction(agent.instruction.as_ref()),
        "tools": agent.tools.iter().filter_map(|tool| declaration(&**tool)).collect::<Vec<_>>(),
        "sub_agents": names,
    });
    agents.insert(agent.name.to_string(), described);
}

fn instruction(instruction: Option<&Instruction>) -> &str {
    match instruction {
        None => "",
        Some(Instruction::Template(text)) => text,
        Some(Instruction::Provider(_)) => "<InstructionProvider>",
    }
}

fn declaration(tool: &dyn Tool) -> Option<Value> {
    let declaration = to_camel(&**tool.declaration()?).ok()?;
    Some(json!({ "functionDeclarations": [declaration] }))
}
