//! The prompts of a server.

use pleach_context::ReadonlyContext;
use pleach_core::{Content, Map};
use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest, Prompt, PromptMessage, Role,
    ServerResult,
};

use crate::error::McpError;
use crate::{McpToolset, content};

/// A text that a server has for a purpose, with gaps to fill in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPrompt {
    /// By which it is asked for.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it needs.
    pub arguments: Vec<McpPromptArgument>,
}

/// A gap of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// What belongs there.
    pub description: Option<String>,
    /// Whether it must be filled in.
    pub is_required: bool,
}

impl McpToolset {
    /// Returns the prompts of the server; none if it has none. `ctx` is what the headers of a session are made from.
    ///
    /// # Errors
    /// The server did not answer.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn list_prompts(&self, ctx: Option<&ReadonlyContext>) -> Result<Vec<McpPrompt>, McpError> {
        let session = self.session(ctx).await?;
        if !session.has(|capabilities| &capabilities.prompts) {
            return Ok(Vec::new());
        }
        let request = |params| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params));
        let listed = session.list("list its prompts", request, |answer| match answer {
            ServerResult::ListPromptsResult(page) => Some((page.prompts, page.next_cursor)),
            _ => None,
        });
        Ok(listed.await?.into_iter().map(McpPrompt::from).collect())
    }

    /// Returns a prompt with its gaps filled in: messages of roles `user` and `model`. Parts that messages cannot have are left out.
    ///
    /// # Errors
    /// The server has none of this name, an argument is missing, or the server did not answer.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map,
        ctx: Option<&ReadonlyContext>,
    ) -> Result<Vec<Content>, McpError> {
        let session = self.session(ctx).await?;
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match session.ask("give the prompt", request).await? {
            ServerResult::GetPromptResult(prompt) => Ok(prompt.messages.into_iter().map(message).collect()),
            _ => Err(self.fault("answered with something that is no prompt")),
        }
    }
}

fn message(message: PromptMessage) -> Content {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    Content::new(role, content::part(message.content))
}

impl From<Prompt> for McpPrompt {
    fn from(prompt: Prompt) -> Self {
        let arguments = prompt.arguments.unwrap_or_default().into_iter().map(|argument| McpPromptArgument {
            name: argument.name,
            description: argument.description,
            is_required: argument.required.unwrap_or(false),
        });
        Self { name: prompt.name, title: prompt.title, description: prompt.description, arguments: arguments.collect() }
    }
}
