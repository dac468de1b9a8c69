//! The steps that build an agent's request, as a list that users can change.
// L25

use std::sync::Arc;

use pleach_context::{CallbackContext, NodeError};
use pleach_core::BoxFuture;
use pleach_model::LlmRequest;
use pleach_workflow::Fault;

/// Changes the requests of an agent, as one of the steps that build them. ADK: `BaseLlmRequestProcessor`
///
/// # Example
/// ```
/// use pleach_agent::{LlmAgent, ProcessorPlace, RequestProcessor};
/// use pleach_context::{CallbackContext, NodeError};
/// use pleach_core::BoxFuture;
/// use pleach_model::{LlmRequest, ScriptedModel};
///
/// /// Lets the model see the last ten contents only.
/// struct Newest;
///
/// impl RequestProcessor for Newest {
///     fn name(&self) -> &str {
///         "newest"
///     }
///
///     fn process<'a>(
///         &'a self,
///         _: &'a CallbackContext,
///         request: &'a mut LlmRequest,
///     ) -> BoxFuture<'a, Result<(), NodeError>> {
///         let old = request.contents.len().saturating_sub(10);
///         request.contents.drain(..old);
///         Box::pin(async { Ok(()) })
///     }
/// }
///
/// let helper = LlmAgent::builder("helper")
///     .model(ScriptedModel::saying("Hello!"))
///     .request_processor(ProcessorPlace::After("contents"), Newest)
///     .build();
/// assert!(helper.is_ok());
/// ```
pub trait RequestProcessor: Send + Sync + 'static {
    /// Returns the name, which must be unique among the agent's processors.
    fn name(&self) -> &str;

    /// Changes the request. Events that this method emits come before the events of the model.
    ///
    /// # Errors
    /// If the method returns an error, the agent's run fails with it.
    ///
    /// # Cancel safety
    /// If the run is dropped, the future and the request are dropped with it.
    fn process<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>>;
}

/// The place of a request processor among the steps of an agent.
///
/// These are the agent's own steps, in order:
///
/// | step | what it does |
/// | --- | --- |
/// | `basic` | sets the generation config and the schema of the answer |
/// | `instructions` | adds the global, the static and the agent's own instruction |
/// | `identity` | adds the name and the description of the agent |
/// | `compaction` | summarises the history if the prompt has become too long |
/// | `contents` | adds the conversation |
/// | `nl_planning` | adds the planner's thinking config or instruction |
/// | `code_execution` | shows the model its code and the results as text |
/// | `output_schema` | adds the function that takes the answer, for models that cannot combine tools with a schema |
/// | `agent_transfer` | adds the function for transfers |
/// | `agent_tools` | adds the tools |
/// | `dynamic_instructions` | adds the instructions that come last |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorPlace<'a> {
    /// After all other steps.
    Last,
    /// Before the step with this name.
    Before(&'a str),
    /// After the step with this name.
    After(&'a str),
    /// In place of the step with this name.
    InsteadOf(&'a str),
}

/// A step that every agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Basic,
    Instructions,
    Identity,
    Compaction,
    Contents,
    Planning,
    Code,
    OutputSchema,
    Transfer,
    Tools,
    LastInstructions,
}

impl Step {
    const ALL: [Self; 11] = [
        Self::Basic,
        Self::Instructions,
        Self::Identity,
        Self::Compaction,
        Self::Contents,
        Self::Planning,
        Self::Code,
        Self::OutputSchema,
        Self::Transfer,
        Self::Tools,
        Self::LastInstructions,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Instructions => "instructions",
            Self::Identity => "identity",
            Self::Compaction => "compaction",
            Self::Contents => "contents",
            Self::Planning => "nl_planning",
            Self::Code => "code_execution",
            Self::OutputSchema => "output_schema",
            Self::Transfer => "agent_transfer",
            Self::Tools => "agent_tools",
            Self::LastInstructions => "dynamic_instructions",
        }
    }
}

/// An entry in the list of processors.
#[derive(Clone)]
pub(crate) enum Processor {
    Step(Step),
    Own(Arc<dyn RequestProcessor>),
}

impl Processor {
    fn name(&self) -> &str {
        match self {
            Self::Step(step) => step.name(),
            Self::Own(own) => own.name(),
        }
    }
}

/// The processors of an agent in order, and the faults of changes to the list.
pub(crate) struct Processors {
    pub(crate) list: Vec<Processor>,
    pub(crate) faults: Vec<Fault>,
}

impl Default for Processors {
    fn default() -> Self {
        Self { list: Step::ALL.into_iter().map(Processor::Step).collect(), faults: Vec::new() }
    }
}

impl Processors {
    pub(crate) fn add(&mut self, place: ProcessorPlace<'_>, processor: impl RequestProcessor) {
        let name = processor.name();
        let replaces = matches!(place, ProcessorPlace::InsteadOf(other) if other == name);
        if !replaces && self.list.iter().any(|known| known.name() == name) {
            self.fault(format!("two request processors have the name `{name}`: give each a name of its own"));
            return;
        }
        let own = Processor::Own(Arc::new(processor));
        match place {
            ProcessorPlace::Last => self.list.push(own),
            ProcessorPlace::Before(other) => {
                if let Some(place) = self.find(other) {
                    self.list.insert(place, own);
                }
            }
            ProcessorPlace::After(other) => {
                if let Some(place) = self.find(other) {
                    self.list.insert(place + 1, own);
                }
            }
            ProcessorPlace::InsteadOf(other) => {
                if let Some(place) = self.find(other) {
                    self.list[place] = own;
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(place) = self.find(name) {
            self.list.remove(place);
        }
    }

    fn find(&mut self, name: &str) -> Option<usize> {
        let place = self.list.iter().position(|processor| processor.name() == name);
        if place.is_none() {
            let names: Vec<&str> = self.list.iter().map(Processor::name).collect();
            self.fault(format!("there is no request processor `{name}`; the agent has {}", names.join(", ")));
        }
        place
    }

    fn fault(&mut self, message: String) {
        self.faults.push(Fault::value("request_processor", message));
    }
}
