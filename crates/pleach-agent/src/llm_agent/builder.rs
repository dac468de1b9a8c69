//! [`LlmAgentBuilder`]: builds an agent.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pleach_context::{
    AgentMode, AgentSpec, Instruction, ModelDemand as _, Node, NodeError, NodeKind, NodeSpec, ReadonlyContext,
    RetryConfig, Schema, SharedToolset, Tool,
};
use pleach_core::{Content, Map};
use pleach_model::{GenerateConfig, Model};
use pleach_workflow::{BuildError, Fault};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use smol_str::SmolStr;

use super::callbacks::{
    AfterModelCallback, AfterToolCallback, AgentCallback, BeforeModelCallback, BeforeToolCallback, Callbacks,
    ModelErrorCallback, ToolErrorCallback,
};
use super::processors::{ProcessorPlace, Processors, RequestProcessor};
use super::{Declaration, IncludeContents, LlmAgent, ToolSource};
use crate::demand::AnswerDemand;
use crate::names::name_faults;
use crate::run::Outages;
use crate::{CodeExecutor, Planner};

/// Builds an [`LlmAgent`].
#[must_use]
pub struct LlmAgentBuilder {
    agent: AgentSpec,
    include_contents: Option<IncludeContents>,
    thoughts_of_others: bool,
    instruction: Option<Instruction>,
    static_instruction: Option<Content>,
    config: GenerateConfig,
    tools: Vec<ToolSource>,
    input_schema: Option<Schema>,
    output_schema: Option<Schema>,
    output_key: Option<String>,
    callbacks: Callbacks,
    planner: Option<Arc<dyn Planner>>,
    code_executor: Option<Arc<dyn CodeExecutor>>,
    processors: Processors,
    retry: Option<RetryConfig>,
    timeout: Option<Duration>,
}

impl LlmAgentBuilder {
    pub(super) fn new(name: impl Into<SmolStr>) -> Self {
        let mut agent = AgentSpec::new(name);
        agent.is_llm = true;
        Self {
            agent,
            include_contents: None,
            thoughts_of_others: false,
            instruction: None,
            static_instruction: None,
            config: GenerateConfig::default(),
            tools: Vec::new(),
            input_schema: None,
            output_schema: None,
            output_key: None,
            callbacks: Callbacks::default(),
            planner: None,
            code_executor: None,
            processors: Processors::default(),
            retry: None,
            timeout: None,
        }
    }

    /// Sets the description of the agent's purpose. The models of other agents use it to decide whether to transfer
    /// to this agent.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.agent.description = description.into();
        self
    }

    /// Sets the model. An agent without a model uses the model of its nearest ancestor with one, or the model of the
    /// app.
    // L5
    pub fn model(mut self, model: impl Model) -> Self {
        self.agent.model = Some(Arc::new(model));
        self
    }

    /// Sets the instruction: a text in which `{key}` is replaced by the value of that key in the session state. See
    /// [`inject_session_state`](crate::inject_session_state).
    pub fn instruction(mut self, instruction: impl Into<Instruction>) -> Self {
        self.instruction = Some(instruction.into());
        self
    }

    /// Sets a function that returns the instruction for each request. Its text is used unchanged.
    // L10
    pub fn instruction_fn<F, R>(self, provider: F) -> Self
    where
        F: Fn(ReadonlyContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, NodeError>> + Send + 'static,
    {
        self.instruction(Instruction::provider(provider))
    }

    /// Sets an instruction for all agents of the tree. Only the root agent's global instruction is used.
    pub fn global_instruction(mut self, instruction: impl Into<Instruction>) -> Self {
        self.agent.global_instruction = Some(instruction.into());
        self
    }

    /// Sets an instruction that never changes, so that a provider can cache it. The
    /// [`instruction`](Self::instruction) then follows as a content of the user.
    // L33
    pub fn static_instruction(self, instruction: impl Into<String>) -> Self {
        self.static_content(Content::user(instruction))
    }

    /// Sets an instruction that never changes and may have media. See [`static_instruction`](Self::static_instruction).
    // L34
    pub fn static_content(mut self, instruction: Content) -> Self {
        let is_empty = instruction.parts().iter().all(|part| part.text.as_deref() == Some(""));
        self.static_instruction = Some(instruction).filter(|_| !is_empty);
        self
    }

    /// Sets the generation config of the model.
    pub fn generate_config(mut self, config: GenerateConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets how the agent takes part in the conversation.
    pub fn mode(mut self, mode: AgentMode) -> Self {
        self.agent.mode = Some(mode);
        self
    }

    /// Sets which part of the session is sent to the model.
    pub fn include_contents(mut self, include: IncludeContents) -> Self {
        self.include_contents = Some(include);
        self
    }

    /// Sets whether the thoughts of other agents are sent to the model along with their messages.
    ///
    /// ADK: `include_thoughts_from_other_agents`
    #[doc(alias = "include_thoughts_from_other_agents")]
    pub fn include_thoughts_of_others(mut self, yes: bool) -> Self {
        self.thoughts_of_others = yes;
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(ToolSource::Tool(Arc::new(tool)));
        self
    }

    /// Adds tools.
    pub fn tools<T: Tool>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools.extend(tools.into_iter().map(|tool| ToolSource::Tool(Arc::new(tool))));
        self
    }

    /// Adds a source of tools: a [`Toolset`](pleach_context::Toolset), or a [`SharedToolset`] that several agents use.
    pub fn toolset(mut self, toolset: impl Into<SharedToolset>) -> Self {
        self.tools.push(ToolSource::Set(toolset.into()));
        self
    }

    /// Adds a sub-agent. The model can transfer to it. A sub-agent with the mode [`Task`](AgentMode::Task) or
    /// [`SingleTurn`](AgentMode::SingleTurn) is called like a tool instead.
    pub fn sub_agent(mut self, agent: impl Node) -> Self {
        self.agent.sub_agents.push(Arc::new(agent));
        self
    }

    /// Sets whether transfers to the parent agent are forbidden.
    pub fn disallow_transfer_to_parent(mut self, disallow: bool) -> Self {
        self.agent.disallow_transfer_to_parent = disallow;
        self
    }

    /// Sets whether transfers to the other sub-agents of the parent are forbidden.
    pub fn disallow_transfer_to_peers(mut self, disallow: bool) -> Self {
        self.agent.disallow_transfer_to_peers = disallow;
        self
    }

    /// Sets the type of the input, for runs of the agent as a node or a tool.
    pub fn input_schema<T: DeserializeOwned + Serialize + JsonSchema + 'static>(self) -> Self {
        self.input_json_schema(Schema::of::<T>())
    }

    /// Sets the JSON schema of the input, for runs of the agent as a node or a tool.
    pub fn input_json_schema(mut self, schema: Schema) -> Self {
        self.input_schema = Some(schema);
        self
    }

    /// Requires an answer of this type.
    // L26, L151
    pub fn output_schema<T: DeserializeOwned + Serialize + JsonSchema + 'static>(self) -> Self {
        self.output_json_schema(Schema::of::<T>())
    }

    /// Requires an answer that fits this JSON schema.
    pub fn output_json_schema(mut self, schema: Schema) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Sets the state key that the answer is stored under.
    // L150
    pub fn output_key(mut self, key: impl Into<String>) -> Self {
        self.output_key = Some(key.into());
        self
    }

    /// Adds a callback before the agent runs. If it returns a content, the content is the answer and the agent does
    /// not run.
    #[doc(alias = "before_agent_callback")]
    pub fn before_agent(mut self, callback: impl for<'a> AgentCallback<'a>) -> Self {
        self.callbacks.before_agent.push(Arc::new(callback));
        self
    }

    /// Adds a callback after the agent has run. If it returns a content, the content is stored as one more event.
    #[doc(alias = "after_agent_callback")]
    pub fn after_agent(mut self, callback: impl for<'a> AgentCallback<'a>) -> Self {
        self.callbacks.after_agent.push(Arc::new(callback));
        self
    }

    /// Adds a callback before the model is called. It can change the request. If it returns a response, that response
    /// is used and the model is not called.
    #[doc(alias = "before_model_callback")]
    pub fn before_model(mut self, callback: impl for<'a> BeforeModelCallback<'a>) -> Self {
        self.callbacks.before_model.push(Arc::new(callback));
        self
    }

    /// Adds a callback for each response and each fragment of the model. A response that it returns is used instead.
    #[doc(alias = "after_model_callback")]
    pub fn after_model(mut self, callback: impl for<'a> AfterModelCallback<'a>) -> Self {
        self.callbacks.after_model.push(Arc::new(callback));
        self
    }

    /// Adds a callback for failed calls of the model. If it returns a response, the response replaces the error.
    #[doc(alias = "on_model_error_callback")]
    pub fn on_model_error(mut self, callback: impl for<'a> ModelErrorCallback<'a>) -> Self {
        self.callbacks.on_model_error.push(Arc::new(callback));
        self
    }

    /// Adds a callback before a tool is called. It can change the arguments. If it returns a value, the value is the
    /// result and the tool is not called.
    #[doc(alias = "before_tool_callback")]
    pub fn before_tool(mut self, callback: impl for<'a> BeforeToolCallback<'a>) -> Self {
        self.callbacks.before_tool.push(Arc::new(callback));
        self
    }

    /// Adds a callback for the result of a tool. If it returns a value, the value replaces the result.
    #[doc(alias = "after_tool_callback")]
    pub fn after_tool(mut self, callback: impl for<'a> AfterToolCallback<'a>) -> Self {
        self.callbacks.after_tool.push(Arc::new(callback));
        self
    }

    /// Adds a callback for the failure of a tool. If it returns a value, the value is used as the result.
    #[doc(alias = "on_tool_error_callback")]
    pub fn on_tool_error(mut self, callback: impl for<'a> ToolErrorCallback<'a>) -> Self {
        self.callbacks.on_tool_error.push(Arc::new(callback));
        self
    }

    /// Sets the planner, which makes the agent plan before it acts.
    // L70
    pub fn planner(mut self, planner: impl Planner) -> Self {
        self.planner = Some(Arc::new(planner));
        self
    }

    /// Sets the executor of the code that the model writes.
    // L71
    pub fn code_executor(mut self, executor: impl CodeExecutor) -> Self {
        self.code_executor = Some(Arc::new(executor));
        self
    }

    /// Adds a step to the processing of requests. [`build`](Self::build) fails if the place names an unknown step, or
    /// if another step has the same name.
    // L25
    pub fn request_processor(mut self, place: ProcessorPlace<'_>, processor: impl RequestProcessor) -> Self {
        self.processors.add(place, processor);
        self
    }

    /// Removes the step with this name. [`ProcessorPlace`] lists the steps that every agent has.
    /// [`build`](Self::build) fails if no step has the name.
    pub fn without_request_processor(mut self, name: &str) -> Self {
        self.processors.remove(name);
        self
    }

    /// Sets the retry policy of the agent as a node.
    pub fn retry(mut self, policy: RetryConfig) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Sets the time limit of one attempt of the agent as a node.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    /// Returns an error in these cases:
    /// - The name is not an identifier.
    /// - The generation config has a setting that belongs to another method of this builder.
    /// - A sub-agent is not an agent, or already has a parent.
    /// - A tool or the list of request processors is faulty.
    /// - The agent's own model does not support the output schema. Other models are checked when the Runner is built,
    ///   and before a request is sent.
    // L2–L4
    pub fn build(self) -> Result<LlmAgent, BuildError> {
        let name = self.agent.name.clone();
        let mut spec = NodeSpec::new(name.clone()).kind(NodeKind::Agent).rerun_on_resume(true);
        let mut faults = name_faults(&spec);
        faults.extend(misplaced(&name, &self.config));
        faults.extend(self.processors.faults);
        let mut of_tools = Vec::new();
        self.tools.iter().filter_map(ToolSource::tool).for_each(|tool| tool.faults(&mut of_tools));
        faults.extend(of_tools.iter().map(Fault::from));
        let (schema, model) = (self.output_schema.as_ref(), self.agent.model.clone());
        let demand = AnswerDemand::of(&self.agent, !self.tools.is_empty(), schema, model);
        let unmet = demand.and_then(|demand| demand.unmet(None));
        faults.extend(unmet.map(|fault| Fault::value("output_schema", fault)));
        for sub in self.agent.sub_agents.iter().filter(|sub| sub.agent().is_none()) {
            let sub = &sub.spec().name;
            let message = format!("sub-agent '{sub}' of '{name}' is not an agent: add it as a tool with `NodeTool`");
            faults.push(Fault::value("no_agent", message));
        }
        spec.description.clone_from(&self.agent.description);
        spec.always_gives = true;
        // A task may need several messages of the user.
        spec.wait_for_output = self.agent.mode == Some(AgentMode::Task);
        spec.retry = self.retry;
        spec.timeout = self.timeout;
        spec.input_schema = self.input_schema;
        spec.output_schema.clone_from(&self.output_schema);
        if !faults.is_empty() {
            return Err(BuildError { name: name.to_string(), faults });
        }
        let mut agent = self.agent;
        agent.instruction.clone_from(&self.instruction);
        agent.settings = settings(self.include_contents, self.output_key.as_ref(), &self.config);
        agent.tools = self.tools.iter().filter_map(ToolSource::tool).cloned().collect();
        agent.toolsets = self.tools.iter().filter_map(ToolSource::toolset).cloned().collect();
        let agent = agent.share().map_err(|second| BuildError {
            name: name.to_string(),
            faults: vec![Fault::value("agent_has_parent", second.to_string())],
        })?;
        Ok(LlmAgent(Arc::new(Declaration {
            spec,
            agent,
            include_contents: self.include_contents,
            thoughts_of_others: self.thoughts_of_others,
            instruction: self.instruction,
            static_instruction: self.static_instruction,
            config: self.config,
            tools: self.tools,
            output_schema: self.output_schema,
            output_key: self.output_key,
            callbacks: self.callbacks,
            planner: self.planner,
            code_executor: self.code_executor,
            processors: self.processors.list,
            outages: Outages::default(),
        })))
    }
}

impl fmt::Debug for LlmAgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmAgentBuilder").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Returns the settings of an agent as listings show them. Nothing else reads these copies.
fn settings(contents: Option<IncludeContents>, output_key: Option<&String>, config: &GenerateConfig) -> Map {
    let mut settings = Map::new();
    settings.extend(contents.map(|contents| {
        let name = if contents == IncludeContents::None { "none" } else { "default" };
        ("include_contents".to_owned(), Value::from(name))
    }));
    settings.extend(output_key.map(|key| ("output_key".to_owned(), Value::from(key.as_str()))));
    if let Ok(Value::Object(mut config)) = serde_json::to_value(config) {
        // The HTTP headers may contain API keys.
        config.remove("http_options");
        settings.extend((!config.is_empty()).then(|| ("generate_content_config".to_owned(), Value::Object(config))));
    }
    settings
}

/// Returns a fault for each setting of the generation config that the agent sets itself.
// L4
fn misplaced(name: &str, config: &GenerateConfig) -> Vec<Fault> {
    let fault = |setting: &str, instead: &str| {
        let message =
            format!("agent '{name}': the generation config must not set `{setting}`; use `.{instead}(…)` instead");
        Fault::value("misplaced_setting", message)
    };
    let mut faults = Vec::new();
    if config.tools.is_some() {
        faults.push(fault("tools", "tool"));
    }
    if config.system_instruction.is_some() {
        faults.push(fault("system_instruction", "instruction"));
    }
    if config.response_schema.is_some() {
        faults.push(fault("response_schema", "output_schema"));
    }
    faults
}
