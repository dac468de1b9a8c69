//! [`Planner`]: makes an agent plan before it acts.
// L70

use pleach_context::{CallbackContext, NodeError, ReadonlyContext};
use pleach_core::Part;
use pleach_model::{LlmRequest, ThinkingConfig};

/// Makes an agent plan before it acts: by an instruction, and by what it makes of responses. ADK: `BasePlanner`
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
    /// Returns what the system instruction says about planning.
    ///
    /// # Errors
    /// The agent's run fails.
    fn build_planning_instruction(
        &self,
        ctx: &ReadonlyContext,
        request: &LlmRequest,
    ) -> Result<Option<String>, NodeError>;

    /// Returns the parts that take the place of those of a response, or of a fragment; `None` leaves them. What it changes in the
    /// state gets an event of its own, before that of the response.
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

    /// Returns how the model thinks, for planners that leave planning to it: nothing but this is then added to requests.
    fn thinking_config(&self) -> Option<&ThinkingConfig> {
        None
    }
}

/// Leaves planning to a model that thinks. Its config replaces that of the agent's generation config. ADK: `BuiltInPlanner`
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
