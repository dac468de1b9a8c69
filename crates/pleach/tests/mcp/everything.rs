//! The reference servers from npm, if they are installed. Without them the tests say SKIPPED and pass.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pleach::mcp::{McpCommand, McpEndpoint, McpToolset};
use serde_json::json;

use crate::{call, error, in_node, text, tool_of};

/// The environment variable with the folder of the servers that `npm install` made.
const SERVERS: &str = "PLEACH_TEST_MCP_SERVERS";

/// Returns the command of a reference server.
fn reference(name: &str) -> Option<McpCommand> {
    Some(McpCommand::new("node").arg(script(name)?.to_str().unwrap()))
}

fn script(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(SERVERS).filter(|folder| !folder.is_empty()) else {
        pleach_contract::own_tests::skip(format_args!("{SERVERS} names no folder"));
        return None;
    };
    let script = format!("node_modules/@modelcontextprotocol/{name}/dist/index.js");
    Some(Path::new(&folder).join(script))
}

/// A reference server over HTTP. Dropping the value kills it.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server at a port and waits until it accepts connections.
async fn serve_at(script: &Path, port: u16) -> Serving {
    let mut command = Command::new("node");
    command.arg(script).arg("streamableHttp").env("PORT", port.to_string());
    let serving = Serving(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    for _ in 0..2_000 {
        if tokio::net::TcpStream::connect(("localhost", port)).await.is_ok() {
            return serving;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server is not up within twenty seconds");
}

#[tokio::test]
async fn a_real_server_that_is_restarted_costs_one_call() {
    let Some(script) = script("server-everything") else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let first = serve_at(&script, port).await;
    let toolset =
        McpToolset::builder(McpEndpoint::new(format!("http://localhost:{port}/mcp"))).name("s").build().unwrap();
    in_node(move |ctx| async move {
        let echo = tool_of(&toolset, "echo").await;
        assert_eq!(text(&call(&echo, json!({"message": "hi"}), &ctx).await), "Echo: hi");
        drop(first);
        let _second = serve_at(&script, port).await;
        // The stream of notifications may have found the end of the server before the call does.
        let after = call(&echo, json!({"message": "hi"}), &ctx).await;
        if after.response.as_ref().unwrap().contains_key("error") {
            assert!(error(&after).contains("session") || error(&after).contains("HTTP 4"), "{after:?}");
            assert_eq!(text(&call(&echo, json!({"message": "back"}), &ctx).await), "Echo: back");
        }
        pleach::Toolset::close(&toolset).await.unwrap();
    })
    .await;
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
