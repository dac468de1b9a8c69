//! [`Planner`]: makes an agent plan before it acts.
// L70

use pleach_context::{CallbackContext, NodeError, ReadonlyContext};
use pleach_core::Part;
use pleach_model::{LlmRequest, ThinkingConfig};

/// Makes an agent plan before it acts. ADK: `BasePlanner`
///
/// A planner adds an instruction to requests and may change the parts of responses.
///
/// # Example
/// ```
/// use pleach_agent::{LlmAgent, Planner};
/// use pleach_context::{NodeError, ReadonlyContext};
/// use pleach_model::{LlmRequest, ScriptedModel};
///
/// struct StepByStep;
///
/// impl Planner for StepByStep {
///     fn build_planning_instruction(
///         &self,
///         _: &ReadonlyContext,
///         _: &LlmRequest,
///     ) -> Result<Option<String>, NodeError> {
///         Ok(Some("Write down your steps first.".to_owned()))
///     }
/// }
///
/// let helper = LlmAgent::builder("helper").model(ScriptedModel::saying("1. …")).planner(StepByStep).build();
/// assert!(helper.is_ok());
/// ```
pub trait Planner: Send + Sync + 'static {
    /// Returns the text about planning for the system instruction.
    ///
    /// # Errors
    /// The agent's run fails.
    fn build_planning_instruction(
        &self,
        ctx: &ReadonlyContext,
        request: &LlmRequest,
    ) -> Result<Option<String>, NodeError>;

    /// Returns the parts that replace the parts of a response, or of a fragment of one. `None` leaves them as they are.
    ///
    /// State changes that this function makes are stored in an event of their own, before the event of the response.
    ///
    /// # Errors
    /// The agent's run fails.
    fn process_planning_response(
        &self,
        _ctx: &CallbackContext,
        _parts: &[Part],
    ) -> Result<Option<Vec<Part>>, NodeError> {
        Ok(None)
    }

    /// Returns the thinking config for planners that leave planning to the model. Requests then get this config and
    /// nothing else.
    fn thinking_config(&self) -> Option<&ThinkingConfig> {
        None
    }
}

/// Leaves planning to a model that can think. ADK: `BuiltInPlanner`
///
/// Its config replaces the thinking config in the agent's generation config.
#[derive(Clone, Debug)]
pub struct BuiltInPlanner(ThinkingConfig);

impl BuiltInPlanner {
    /// Makes a planner with this config.
    pub fn new(config: ThinkingConfig) -> Self {
        Self(config)
    }
}

impl Planner for BuiltInPlanner {
    fn build_planning_instruction(&self, _: &ReadonlyContext, _: &LlmRequest) -> Result<Option<String>, NodeError> {
        Ok(None)
    }

    fn thinking_config(&self) -> Option<&ThinkingConfig> {
        Some(&self.0)
    }
}
