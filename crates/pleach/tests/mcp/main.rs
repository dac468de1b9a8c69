//! Agents and nodes that use MCP servers.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

#[path = "../../../pleach-mcp/tests/server/mod.rs"]
mod server;

mod agent;
mod calls;
mod everything;
mod odd_results;
mod reports;
mod secrets;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::mcp::{McpCommand, McpTool, McpToolset};
use pleach::prelude::*;
use pleach::{FunctionResponse, ToolResult};
use serde_json::Value;

#[test]
fn is_server() {
    server::serve_if_asked();
}

/// The command that starts the test server.
fn command() -> McpCommand {
    server::command("is_server")
}

/// Runs a node with the handler `body` and returns the value of `body`.
async fn in_node<T, Fut>(body: impl FnOnce(Context) -> Fut + Send + 'static) -> T
where
    T: Send + 'static,
    Fut: Future<Output = T> + Send + 'static,
{
    let (body, result) = (Arc::new(Mutex::new(Some(body))), Arc::new(Mutex::new(None)));
    let kept = result.clone();
    let node = move |ctx: Context| {
        let (body, kept) = (body.lock().unwrap().take().unwrap(), kept.clone());
        async move {
            let value = body(ctx).await;
            *kept.lock().unwrap() = Some(value);
        }
    };
    let mut wf = Workflow::builder("w");
    let node = wf.node("n", node);
    wf.edge(START, node);
    let runner = Runner::builder("demo").root(wf.build().unwrap()).build().unwrap();
    runner.run("ana", "s1", "go").output::<Value>().await.unwrap();
    result.lock().unwrap().take().unwrap()
}

/// Returns a tool of a toolset.
async fn tool_of(toolset: &McpToolset, name: &str) -> McpTool {
    let tools = toolset.list_tools(None).await.unwrap();
    tools.into_iter().find(|tool| tool.name() == name).unwrap()
}

/// Calls a tool and returns the response that a model gets.
async fn call(tool: &McpTool, args: Value, ctx: &Context) -> FunctionResponse {
    let result: ToolResult = tool.run(args.as_object().unwrap(), ctx).await.unwrap();
    result.into_response("c1", tool.name())
}

/// Returns the first text of a response.
fn text(response: &FunctionResponse) -> &str {
    response.response.as_ref().unwrap()["content"][0]["text"].as_str().unwrap()
}

/// Returns the error of a response.
fn error(response: &FunctionResponse) -> &str {
    response.response.as_ref().unwrap()["error"].as_str().unwrap()
}

/// Waits until the log file of the server has a line.
async fn until_logged(path: &Path, line: &str) {
    for _ in 0..1_000 {
        if std::fs::read_to_string(path).unwrap_or_default().lines().any(|logged| logged == line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server did not log `{line}` within ten seconds");
}
