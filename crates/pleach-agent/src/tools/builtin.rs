//! Tools for common needs of agents.
// L112

use pleach_context::ToolContext;
use pleach_core::{Map, REQUEST_INPUT};
use pleach_workflow::{Args, FunctionTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Returns the tool that a model calls to leave the [`LoopAgent`](crate::LoopAgent) around its agent. ADK: `exit_loop`
#[must_use]
pub fn exit_loop() -> FunctionTool {
    let description = "Exits the loop.\n\nCall this function only when you are instructed to do so.";
    tool("exit_loop", description, async |ctx: ToolContext| {
        ctx.with_actions(|actions| {
            actions.set_escalate(Some(true));
            actions.set_skip_summarization(Some(true));
        })
    })
}

#[derive(Deserialize, JsonSchema)]
struct Options {
    options: Vec<String>,
}

/// Returns the tool that a model calls to let the user choose. The call is long-running: the client shows the options
/// and sends the choice as the result of the call. ADK: `get_user_choice_tool`
#[must_use]
#[doc(alias = "get_user_choice_tool")]
pub fn get_user_choice() -> FunctionTool {
    let description = "Provides the options to the user and asks them to choose one.";
    let handler = async |Args(Options { options }): Args<Options>, ctx: ToolContext| {
        let _shown_by_the_client = options;
        ctx.with_actions(|actions| actions.set_skip_summarization(Some(true)))
    };
    tool("get_user_choice", description, handler).long_running()
}

#[derive(Deserialize, JsonSchema)]
struct InputRequest {
    /// The question, as the user reads it.
    message: String,
    /// The JSON Schema that the answer must fit: `{"type": "string"}` for a text, `{"type": "boolean"}` for yes or
    /// no, an object for more.
    response_schema: Option<Map>,
}

/// Returns the tool that a model calls to ask the user a question. The call is a question like the questions of nodes:
/// it is listed with its message, and its answer must fit the schema. ADK: `request_input`
#[must_use]
pub fn request_input() -> FunctionTool {
    let description = "Asks the user a question and waits for the answer. Use it when something is unclear or missing, before you continue.";
    let handler = async |Args(InputRequest { message, response_schema }): Args<InputRequest>| {
        let _read_from_the_call = (message, response_schema);
    };
    tool(REQUEST_INPUT, description, handler).long_running()
}
