//! The reference servers from npm, if they are installed. Without them the tests say SKIPPED and pass.

use std::path::Path;

use pleach::mcp::{McpCommand, McpToolset};
use serde_json::json;

use crate::{call, in_node, text, tool_of};

/// The variable with the folder into which `npm install` has put the servers.
const SERVERS: &str = "PLEACH_TEST_MCP_SERVERS";

/// Returns the command of a reference server.
fn reference(name: &str) -> Option<McpCommand> {
    let Some(folder) = std::env::var_os(SERVERS).filter(|folder| !folder.is_empty()) else {
        eprintln!("SKIPPED: {SERVERS} names no folder");
        return None;
    };
    let script = format!("node_modules/@modelcontextprotocol/{name}/dist/index.js");
    Some(McpCommand::new("node").arg(Path::new(&folder).join(script).to_str().unwrap()))
}

#[tokio::test]
async fn the_everything_server_is_served() {
    let Some(command) = reference("server-everything") else { return };
    let toolset = McpToolset::builder(command).build().unwrap();
    in_node(|ctx| async move {
        let response = call(&tool_of(&toolset, "echo").await, json!({"message": "hi"}), &ctx).await;
        assert_eq!(text(&response), "Echo: hi");
        assert!(!toolset.list_resources(None).await.unwrap().is_empty());
        assert!(!toolset.list_prompts(None).await.unwrap().is_empty());
        toolset.list_resource_templates(None).await.unwrap();
        pleach::Toolset::close(&toolset).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_filesystem_server_is_served() {
    let Some(command) = reference("server-filesystem") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path().canonicalize().unwrap();
    std::fs::write(folder_path.join("note.txt"), "Oslo is in Norway.").unwrap();
    let toolset = McpToolset::builder(command.arg(folder_path.to_str().unwrap())).build().unwrap();
    in_node(move |ctx| async move {
        let path = folder_path.join("note.txt");
        let response = call(&tool_of(&toolset, "read_text_file").await, json!({"path": path}), &ctx).await;
        assert_eq!(text(&response), "Oslo is in Norway.");
        let response = call(&tool_of(&toolset, "read_text_file").await, json!({"path": "/etc/passwd"}), &ctx).await;
        assert_eq!(response.response.as_ref().unwrap()["isError"], true);
    })
    .await;
}
