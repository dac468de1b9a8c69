//! [`SubAgentTool`]: a sub-agent that its parent calls as a tool.
// L185, L190

use std::sync::Arc;

use pleach_context::engine::RunHandle;
use pleach_context::{AgentMode, Node, NodeError, NodeInput, RunOptions, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, Branch, FunctionDeclaration, Map};
use serde_json::{Value, json};

/// A sub-agent that its parent calls for one answer, or to delegate a task.
pub(crate) struct SubAgentTool {
    agent: Arc<dyn Node>,
    mode: AgentMode,
    declaration: Arc<FunctionDeclaration>,
}

/// The end of the description of an agent for tasks.
const ALONE: &str = "IMPORTANT: This tool hands the work over to a specialized agent. Do NOT call this tool in parallel with any other tools.";

impl SubAgentTool {
    pub(crate) fn new(agent: &Arc<dyn Node>, mode: AgentMode) -> Self {
        let spec = agent.spec();
        let description = match mode {
            AgentMode::Task => format!("{}\n{ALONE}", spec.description).trim().to_owned(),
            _ => spec.description.clone(),
        };
        let declaration =
            FunctionDeclaration::new(spec.name.as_str(), description).with_parameters(parameters(&**agent));
        Self { agent: Arc::clone(agent), mode, declaration: Arc::new(declaration) }
    }

    async fn call(&self, args: &Map, ctx: &ToolContext) -> Result<Value, NodeError> {
        let spec = self.agent.spec();
        let input = match &spec.input_schema {
            Some(schema) => match schema.apply(&Value::Object(args.clone())) {
                Ok(input) => input,
                Err(error) => return Ok(format!("Error validating input: {error}").into()),
            },
            None => args.get("request").cloned().unwrap_or_default(),
        };
        let id = ctx.function_call_id().unwrap_or_default();
        let branch = Branch::child(ctx.branch().as_ref(), &spec.name, &id);
        // On a resume, the same call is the same run.
        RunHandle::of(ctx.clone()).number_children_like_call();
        let options = RunOptions::default().override_branch(branch.as_str());
        match ctx.run_node(&*self.agent, NodeInput::json(input), options).await {
            Ok(output) => Ok(output.to_value()),
            Err(error) => Ok(format!("Error running sub-agent: {error}").into()),
        }
    }
}

/// Returns the schema of the arguments: the agent's input schema, or a text without one.
pub(crate) fn parameters(agent: &dyn Node) -> Value {
    agent.spec().input_schema.as_ref().map_or_else(
        || {
            json!({
                "type": "object",
                "properties": {"request": {"type": "string", "description": "What the agent is to do, with all that it needs to know."}},
                "required": ["request"],
            })
        },
        pleach_context::Schema::to_json,
    )
}

impl Tool for SubAgentTool {
    fn name(&self) -> &str {
        &self.agent.spec().name
    }

    fn description(&self) -> &str {
        self.declaration.description.as_deref().unwrap_or_default()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declaration)
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(async move {
            match self.mode {
                // The calling agent runs the task after the other calls.
                AgentMode::Task => Ok(ToolResult::default()),
                _ => self.call(args, ctx).await.map(ToolResult::from),
            }
        })
    }
}
