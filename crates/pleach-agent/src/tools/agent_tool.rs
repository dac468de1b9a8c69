//! [`AgentTool`]: an agent that another agent calls, in a conversation of its own.
// L195–L197

use std::fmt;
use std::sync::Arc;

use pleach_context::{Need, Node, NodeError, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, Content, Event, FunctionDeclaration, Map, Part};
use serde_json::Value;

use super::nested::Nested;
use super::sub_agent::parameters;
use crate::python;
use crate::schema::{structured, without_nulls};

/// An agent as a tool. ADK: `AgentTool`
///
/// Every call runs the agent in a conversation of its own, which is not stored. The agent sees the arguments and the
/// session's state, but not the conversation of its caller. Its state changes and the files that it saves become the
/// caller's. The result is the agent's last text.
///
/// The agent's input schema defines the arguments. Without a schema they are `{"request": text}`.
///
/// ```
/// use pleach_agent::{AgentTool, LlmAgent};
/// use pleach_model::ScriptedModel;
///
/// let expert = LlmAgent::builder("expert").model(ScriptedModel::saying("42.")).build()?;
/// let clerk = LlmAgent::builder("clerk").model(ScriptedModel::saying("Hello.")).tool(AgentTool::new(expert)).build()?;
/// # drop(clerk);
/// # Ok::<_, pleach_workflow::BuildError>(())
/// ```
#[derive(Clone)]
pub struct AgentTool {
    agent: Arc<dyn Node>,
    declaration: Arc<FunctionDeclaration>,
    skip_summarization: bool,
}

impl AgentTool {
    /// Makes a tool from an agent. The tool has the agent's name and description.
    pub fn new(agent: impl Node) -> Self {
        let agent: Arc<dyn Node> = Arc::new(agent);
        let spec = agent.spec();
        let declaration = FunctionDeclaration::new(spec.name.as_str(), spec.description.clone());
        let declaration = declaration.with_parameters(parameters(described(&*agent)));
        Self { agent, declaration: Arc::new(declaration), skip_summarization: false }
    }

    /// Ends the caller's turn with the result: the caller's model is not called to summarise the result.
    #[must_use]
    pub fn skip_summarization(mut self) -> Self {
        self.skip_summarization = true;
        self
    }

    async fn call(&self, args: &Map, ctx: &ToolContext) -> Result<Value, NodeError> {
        if self.skip_summarization {
            ctx.with_actions(|actions| actions.set_skip_summarization(Some(true)))?;
        }
        let message = Content::user(self.message(args)?);
        let nested = Nested::run(&*self.agent, message, ctx).await?;
        if !nested.open.is_empty() {
            ctx.with_actions(|actions| actions.set_skip_summarization(Some(false)))?;
            let (agent, ids) = (python::repr(&self.name().into()), python::repr(&nested.open.into()));
            return Ok(format!("Error: agent {agent} stopped waiting on unresolved long-running tool call(s) (pending call ids: {ids}), which AgentTool cannot resume.").into());
        }
        self.result(&nested.events)
    }

    /// Returns the message for the agent.
    // L195
    fn message(&self, args: &Map) -> Result<String, NodeError> {
        let text = |value: &Value| {
            serde_json::to_string(value)
                .map_err(|error| NodeError::validation(format!("the arguments have no JSON form: {error}")))
        };
        if let Some(schema) = &described(&*self.agent).spec().input_schema {
            return text(&without_nulls(schema.apply(&Value::Object(args.clone()))?));
        }
        match args.get("request") {
            Some(Value::String(request)) => Ok(request.clone()),
            Some(other) => text(other),
            None => text(&Value::Object(args.clone())),
        }
    }

    /// Returns the result: the text of the last event with a content, or the last error message if there is no text.
    // L197
    fn result(&self, events: &[Arc<Event>]) -> Result<Value, NodeError> {
        let last = events.iter().rev().find(|event| event.content().is_some());
        let text = last.map(|event| texts(event)).unwrap_or_default();
        if text.is_empty() {
            let error = events.iter().rev().find_map(|event| event.error_message());
            return Ok(error.unwrap_or_default().into());
        }
        match &answering(&*self.agent).spec().output_schema {
            Some(schema) => structured(schema, &text)?.ok_or_else(|| {
                NodeError::validation(format!(
                    "the answer of the agent '{}' is blank, and not what its output schema demands",
                    self.name()
                ))
            }),
            None => Ok(text.into()),
        }
    }
}

/// Returns the agent whose input schema applies. For a shell agent, this is the first sub-agent.
fn described(agent: &dyn Node) -> &dyn Node {
    let first = agent.agent().filter(|spec| !spec.is_llm).and_then(|spec| spec.sub_agents.first());
    first.map_or(agent, |first| described(&**first))
}

/// Returns the agent whose output schema applies. For a shell agent, this is the last sub-agent.
fn answering(agent: &dyn Node) -> &dyn Node {
    let last = agent.agent().filter(|spec| !spec.is_llm).and_then(|spec| spec.sub_agents.last());
    last.map_or(agent, |last| answering(&**last))
}

/// Returns the texts, the code and the code results of an event, without thoughts, each on a line of its own.
fn texts(event: &Event) -> String {
    let parts = event.content().map(|content| content.parts()).unwrap_or_default();
    let texts = parts.iter().filter(|part| !part.is_thought()).map(text_of);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn text_of(part: &Part) -> &str {
    let said = || part.text.as_deref().filter(|text| !text.is_empty());
    let printed = || Some(part.code_execution_result.as_ref()?.output.as_deref()?.trim_end_matches('\n'));
    let code = || part.executable_code.as_ref()?.code.as_deref();
    said().or_else(printed).or_else(code).unwrap_or_default()
}

impl Tool for AgentTool {
    fn name(&self) -> &str {
        &self.agent.spec().name
    }

    fn description(&self) -> &str {
        &self.agent.spec().description
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declaration)
    }

    fn shows_result(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(async move { self.call(args, ctx).await.map(ToolResult::from) })
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.agent.needs(needs);
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTool").field("agent", &self.agent.spec().name).finish_non_exhaustive()
    }
}
