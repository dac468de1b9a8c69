//! [`GlobalInstructionPlugin`]: gives all agents of an app the same instruction.

use std::borrow::Cow;

use pleach_agent::inject_session_state;
use pleach_context::{CallbackContext, Hook, Instruction, NodeError, Plugin, ReadonlyContext};
use pleach_core::BoxError;
use pleach_model::{LlmRequest, LlmResponse};

/// Puts an instruction before the system instruction of every agent.
///
/// A text is a template: `{key}` is replaced by the value in the session state. If the key is missing, the agent fails,
/// unless the template has `{key?}`. The result of a function is used unchanged. An empty instruction changes nothing.
///
/// ```
/// # use pleach_plugins::GlobalInstructionPlugin;
/// let speak = GlobalInstructionPlugin::new("You speak for Otter & Sons. The customer's name is {user:name?}.");
/// # drop(speak);
/// ```
///
/// ADK: `GlobalInstructionPlugin`
#[derive(Debug)]
pub struct GlobalInstructionPlugin {
    name: String,
    instruction: Instruction,
}

impl GlobalInstructionPlugin {
    /// Creates the plugin, named `global_instruction`, from a template or an [`Instruction`].
    pub fn new(instruction: impl Into<Instruction>) -> Self {
        Self { name: "global_instruction".to_owned(), instruction: instruction.into() }
    }

    /// Sets the name of the plugin.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    async fn text(&self, ctx: &CallbackContext) -> Result<Cow<'_, str>, NodeError> {
        let view = ReadonlyContext::new(ctx.clone());
        Ok(match &self.instruction {
            Instruction::Template(template) if !template.contains('{') => Cow::Borrowed(template),
            Instruction::Template(template) => {
                Cow::Owned(inject_session_state(template, &view, ctx.agent_name()).await?)
            }
            Instruction::Provider(provider) => Cow::Owned(provider(view).await?),
        })
    }

    async fn instruct(&self, ctx: &CallbackContext, request: &mut LlmRequest) -> Result<(), BoxError> {
        let text = self.text(ctx).await?;
        if text.is_empty() {
            return Ok(());
        }
        let all = match request.config.system_instruction.take().filter(|own| !own.is_empty()) {
            Some(own) => format!("{text}\n\n{own}"),
            None => text.into_owned(),
        };
        request.config.system_instruction = Some(all);
        Ok(())
    }
}

impl Plugin for GlobalInstructionPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn before_model<'a>(
        &'a self,
        ctx: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        Some(Box::pin(async move { self.instruct(ctx, request).await.map(|()| None) }))
    }
}
