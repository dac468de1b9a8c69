//! Builds the request for one step.
// L25–L35, L60, L66

use std::borrow::Cow;
use std::sync::Arc;

use pleach_context::{AgentMode, AgentSpec, Instruction, NodeError, ReadonlyContext};
use pleach_core::{BoxFuture, Part};
use pleach_model::{LlmRequest, Model, insert_input_context};

use super::AgentRun;
use super::tools::ToolTable;
use crate::guidance;
use crate::llm_agent::processors::{Processor, Step};
use crate::{TemplateError, TemplateSource, inject_session_state};

/// The label that names the agent in a request.
const AGENT_LABEL: &str = "adk_agent_name";

impl AgentRun<'_> {
    /// Returns the model of the agent, of its nearest ancestor with a model, or of the app.
    ///
    /// # Errors
    /// A `ValueError` if there is no model.
    // L5
    pub(super) fn model(&self) -> Result<Arc<dyn Model>, NodeError> {
        let of_app = || self.handle.invocation().services().model.clone();
        self.agent.agent.nearest_model().or_else(of_app).ok_or_else(|| {
            NodeError::value(format!("agent '{}' has no model", self.agent.agent.name))
                .with_hint("give it one with `.model(…)`, or the app with `Runner::builder(…).model(…)`")
        })
    }

    /// Fills a request and the table of the tools that it declares.
    // L25
    pub(super) async fn fill(
        &self,
        request: &mut LlmRequest,
        tools: &mut ToolTable,
        model: &dyn Model,
    ) -> Result<(), NodeError> {
        let capabilities = model.capabilities();
        for processor in &self.agent.processors {
            match processor {
                Processor::Own(own) => own.process(self.handle, request).await?,
                Processor::Step(step) => match step {
                    Step::Basic => self.configure(request, capabilities.output_schema_and_tools),
                    Step::Instructions => self.instruct(request).await?,
                    Step::Identity => self.identify(request),
                    Step::Compaction => self.compact(model).await,
                    Step::Contents => self.converse(request, capabilities.pairs_calls_by_id),
                    Step::Planning => self.plan(request)?,
                    Step::Code => self.show_code(request),
                    Step::OutputSchema | Step::Transfer | Step::Tools => {
                        self.declare(*step, request, tools, capabilities.output_schema_and_tools).await?;
                    }
                    Step::LastInstructions => request.place_last_instructions(),
                },
            }
        }
        Ok(())
    }

    /// Builds only the table of tools, for calls that are executed before the model is called again.
    pub(super) async fn tools(&self, model: &dyn Model) -> Result<ToolTable, NodeError> {
        let (mut request, mut tools) = (LlmRequest::new(model.name()), ToolTable::default());
        for processor in &self.agent.processors {
            if let Processor::Step(step) = processor {
                self.declare(*step, &mut request, &mut tools, model.capabilities().output_schema_and_tools).await?;
            }
        }
        Ok(tools)
    }

    /// Declares the tools that a step adds, if any.
    async fn declare(
        &self,
        step: Step,
        request: &mut LlmRequest,
        tools: &mut ToolTable,
        has_both: bool,
    ) -> Result<(), NodeError> {
        match step {
            Step::OutputSchema => self.add_answer_tool(request, tools, has_both).await,
            Step::Transfer => self.add_transfer(request, tools).await,
            Step::Tools => self.add_tools(request, tools).await,
            _ => Ok(()),
        }
    }

    fn identify(&self, request: &mut LlmRequest) {
        if !self.is_single_turn {
            let spec = &self.agent.agent;
            request.append_instructions([guidance::identity(&spec.name, &spec.description)]);
        }
    }

    /// Sets the generation config and the schema of the answer.
    // L26
    fn configure(&self, request: &mut LlmRequest, has_both: bool) {
        request.config = self.agent.config.clone();
        if let Some(schema) = self.agent.output_schema.as_ref().filter(|_| self.mode != AgentMode::Task)
            && (!self.has_tools() || has_both)
        {
            request.set_output_schema(schema.to_json());
        }
        if let Some(options) = &self.handle.invocation().run_config().http_options {
            request.config.http_options.get_or_insert_default().merge(options);
        }
        let labels = &self.handle.invocation().run_config().labels;
        if !labels.is_empty() {
            request.config.labels_mut().extend(labels.clone());
        }
    }

    /// Puts the conversation and the input context of the run's config into a request.
    // L54
    fn converse(&self, request: &mut LlmRequest, pairs_calls_by_id: bool) {
        let mut conversation = self.conversation(pairs_calls_by_id);
        let added = &self.handle.invocation().run_config().model_input_context;
        insert_input_context(&mut conversation, added, self.handle.user_content());
        request.set_conversation(conversation);
    }

    /// Adds the agent's name to the labels of the request, right before the call.
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

    async fn text_of<'i>(&self, instruction: &'i Instruction) -> Result<Cow<'i, str>, NodeError> {
        let ctx = || ReadonlyContext::new(self.handle.context().clone());
        Ok(match instruction {
            Instruction::Provider(provider) => Cow::Owned(provider(ctx()).await?),
            Instruction::Template(template) if !template.contains('{') => Cow::Borrowed(template),
            Instruction::Template(template) => {
                Cow::Owned(inject_session_state(template, &ctx(), &self.agent.agent.name).await?)
            }
        })
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
