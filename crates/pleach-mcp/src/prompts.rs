//! The prompts of a server.

use pleach_context::ReadonlyContext;
use pleach_core::{Content, Map, Part};
use rmcp::model::{ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest};
use serde_json::Value;

use crate::connection::Reading;
use crate::error::McpError;
use crate::members::{flag, needed_text, text};
use crate::{McpToolset, content};

/// A prompt template of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPrompt {
    /// The name to request it by.
    pub name: String,
    /// The name for people.
    pub title: Option<String>,
    /// The purpose of the prompt.
    pub description: Option<String>,
    /// The arguments that fill in the template.
    pub arguments: Vec<McpPromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpPromptArgument {
    /// The name of the argument.
    pub name: String,
    /// The meaning of the argument.
    pub description: Option<String>,
    /// Whether the argument is required.
    pub is_required: bool,
}

impl McpToolset {
    /// Returns the prompts of the server; the list is empty if it has none. `ctx` is passed to the function that
    /// returns the headers of the session.
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
        let reading = Reading { what: "list its prompts", key: "prompts", entry: McpPrompt::read };
        session.list(request, &reading).await
    }

    /// Returns a prompt with its arguments filled in, as messages of the roles `user` and `model`. Content blocks that
    /// cannot be parts of a message are left out.
    ///
    /// # Errors
    /// The server has no prompt of this name, an argument is missing, or the server did not answer.
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
        match session.ask("give the prompt", request).await?.get_mut("messages").map(Value::take) {
            Some(Value::Array(messages)) => Ok(messages.into_iter().map(message).collect()),
            Some(one @ (Value::Object(_) | Value::String(_))) => Ok(vec![message(one)]),
            _ => Err(self.fault("answered with something that is not a prompt")),
        }
    }
}

/// Reads a message, whose content may be a block, a list of blocks or a string.
fn message(mut message: Value) -> Content {
    let role = match message.get("role").and_then(Value::as_str) {
        Some("assistant" | "model") => "model",
        _ => "user",
    };
    let content = match message.get_mut("content") {
        Some(content) => content.take(),
        None => message,
    };
    let parts: Vec<Part> = match content {
        Value::Array(blocks) => blocks.iter().filter_map(content::part).collect(),
        block => content::part(&block).into_iter().collect(),
    };
    Content::new(role, parts)
}

impl McpPrompt {
    fn read(prompt: &Map) -> Result<Self, &'static str> {
        let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
        let arguments = arguments.filter_map(Value::as_object).filter_map(|argument| {
            Some(McpPromptArgument {
                name: text(argument, "name")?,
                description: text(argument, "description"),
                is_required: flag(argument, "required").unwrap_or(false),
            })
        });
        Ok(Self {
            name: needed_text(prompt, "name", "its name is not a text")?,
            title: text(prompt, "title"),
            description: text(prompt, "description"),
            arguments: arguments.collect(),
        })
    }
}
