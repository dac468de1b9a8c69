//! Building the request for one step.
// L25–L35, L60, L66

use pleach_context::engine::Engine as _;
use pleach_context::{AgentMode, AgentSpec, Instruction, NodeError, ReadonlyContext};
use pleach_core::{BoxFuture, Part};
use pleach_model::{LlmRequest, Model};
use std::sync::Arc;

use super::AgentRun;
use super::tools::ToolTable;
use crate::guidance;
use crate::{TemplateError, TemplateSource, inject_session_state};

/// The label that names the agent in a request.
const AGENT_LABEL: &str = "adk_agent_name";

impl AgentRun<'_> {
    /// Returns the model of the agent, of the nearest agent above that has one, or of the app.
    ///
    /// # Errors
    /// A `ValueError` when none has.
    // L5
    pub(super) fn model(&self) -> Result<Arc<dyn Model>, NodeError> {
        let of_app = || self.ctx.invocation().engine().services().model.clone();
        self.agent.agent.nearest_model().or_else(of_app).ok_or_else(|| {
            NodeError::value(format!("agent '{}' has no model", self.agent.agent.name))
                .with_hint("give it one with `.model(…)`, or the app with `Runner::builder(…).model(…)`")
        })
    }

    /// Makes the request, and the table of the tools that it declares.
    pub(super) async fn request(&self, model: &dyn Model) -> Result<(LlmRequest, ToolTable), NodeError> {
        let mut request = LlmRequest::new(model.name());
        request.config = self.agent.config.clone();
        let capabilities = model.capabilities();
        if let Some(schema) = self.agent.output_schema.as_ref().filter(|_| self.mode != AgentMode::Task)
            && (!self.has_tools() || capabilities.output_schema_and_tools)
        {
            request.set_output_schema(schema.to_json());
        }
        self.instruct(&mut request).await?;
        if self.mode != AgentMode::SingleTurn {
            let spec = &self.agent.agent;
            request.append_instructions([guidance::identity(&spec.name, &spec.description)]);
        }
        self.compact(model).await;
        self.converse(&mut request, capabilities.pairs_calls_by_id);
        let tools = self.declare(&mut request, model).await?;
        Ok((request, tools))
    }

    /// Puts the conversation into a request, and what this run adds to it.
    // L54
    fn converse(&self, request: &mut LlmRequest, pairs_calls_by_id: bool) {
        let instructions = std::mem::replace(&mut request.contents, self.conversation(pairs_calls_by_id));
        let added = self.ctx.invocation().run_config().model_input_context.iter();
        request.insert_input_context(added.cloned().map(Into::into).collect(), self.ctx.user_content());
        request.insert_instruction_contents(instructions);
    }

    /// Makes the table of the tools alone, for calls that are executed before the model is asked again.
    pub(super) async fn tools(&self, model: &dyn Model) -> Result<ToolTable, NodeError> {
        self.declare(&mut LlmRequest::new(model.name()), model).await
    }

    /// Declares the tools in a request.
    // L58
    async fn declare(&self, request: &mut LlmRequest, model: &dyn Model) -> Result<ToolTable, NodeError> {
        let mut tools = ToolTable::default();
        self.add_answer_tool(request, &mut tools, model.capabilities().output_schema_and_tools).await?;
        self.add_transfer(request, &mut tools).await?;
        self.add_tools(request, &mut tools).await?;
        request.place_last_instructions();
        Ok(tools)
    }

    /// Names the agent in the labels, right before the call.
    // L28
    pub(super) fn label(&self, request: &mut LlmRequest) {
        let name = &self.agent.agent.name;
        request.config.labels_mut().entry(AGENT_LABEL.to_owned()).or_insert_with(|| name.to_string());
    }

    async fn instruct(&self, request: &mut LlmRequest) -> Result<(), NodeError> {
        let root = root_of(&self.agent.agent);
        if let Some(instruction) = &root.global_instruction {
            let text = self.text_of(instruction).await?;
            request.append_instructions([text]);
        }
        if let Some(content) = &self.agent.static_instruction {
            request.append_instruction_content(content);
        }
        let Some(instruction) = &self.agent.instruction else { return Ok(()) };
        let text = self.text_of(instruction).await?;
        if self.agent.static_instruction.is_some() {
            request.contents.push(guidance::dynamic_instruction(&text).into());
        } else {
            request.append_instructions([text]);
        }
        Ok(())
    }

    async fn text_of(&self, instruction: &Instruction) -> Result<String, NodeError> {
        let ctx = ReadonlyContext::new(self.ctx.clone());
        match instruction {
            Instruction::Provider(provider) => provider(ctx).await,
            Instruction::Template(template) if !template.contains('{') => Ok(template.to_string()),
            Instruction::Template(template) => Ok(inject_session_state(template, &ctx, &self.agent.agent.name).await?),
        }
    }
}

fn root_of(agent: &Arc<AgentSpec>) -> Arc<AgentSpec> {
    let mut root = Arc::clone(agent);
    while let Some(parent) = root.parent() {
        root = parent;
    }
    root
}

impl TemplateSource for ReadonlyContext {
    fn state(&self, key: &str) -> Option<serde_json::Value> {
        self.state_value(key)
    }

    fn artifact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Part>, TemplateError>> {
        Box::pin(async move {
            if !self.has_artifacts() {
                return Err(TemplateError::NoArtifactService);
            }
            self.load_artifact(name)
                .await
                .map_err(|error| TemplateError::Artifact { name: name.to_owned(), source: Box::new(error) })
        })
    }
}

impl From<TemplateError> for NodeError {
    fn from(error: TemplateError) -> Self {
        let node_error = NodeError::new(error.code(), error.to_string());
        node_error.with_hint(match error {
            TemplateError::MissingState { .. } => {
                "set the key before the agent runs, or write `{key?}` if it may be absent"
            }
            TemplateError::MissingArtifact { .. } => {
                "save the artifact before the agent runs, or write `{artifact.name?}` if it may be absent"
            }
            TemplateError::NoArtifactService => "give the Runner one with `RunnerBuilder::artifacts`",
            TemplateError::Artifact { .. } => "check that the artifact service can be reached and read, then resume",
        })
    }
}
