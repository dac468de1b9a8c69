//! Tools for common needs of agents.
// L112

use pleach_context::{NodeError, ToolContext};
use pleach_workflow::{Args, FunctionTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Returns the tool by which the model leaves the [`LoopAgent`](crate::LoopAgent) around its agent. ADK: `exit_loop`
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

/// Returns the tool by which the model lets the user choose. Its call is a long-running one: the client shows the options and
/// sends the choice as its result. ADK: `get_user_choice_tool`
#[must_use]
pub fn get_user_choice() -> FunctionTool {
    let description = "Provides the options to the user and asks them to choose one.";
    let handler = async |Args(Options { options }): Args<Options>, ctx: ToolContext| {
        let _shown_by_the_client = options;
        ctx.with_actions(|actions| actions.set_skip_summarization(Some(true)))
    };
    tool("get_user_choice", description, handler).long_running()
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    query: String,
}

/// Returns the tool by which the model searches earlier sessions of the user. The app needs a memory service. ADK:
/// `load_memory_tool`
#[must_use]
pub fn load_memory() -> FunctionTool {
    let handler = async |Args(Query { query }): Args<Query>, ctx: ToolContext| -> Result<Value, NodeError> {
        Ok(json!({"memories": ctx.search_memory(query).await?}))
    };
    tool("load_memory", "Loads the memory for the current user.", handler)
}
