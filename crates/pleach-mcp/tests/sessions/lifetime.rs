//! Sessions begin when they are needed, end with the toolset, and begin again.

use std::path::Path;
use std::time::Duration;

use pleach_context::{Tool as _, Toolset as _};
use pleach_mcp::{McpCommand, McpEndpoint, McpError, McpToolset};

use crate::{command, server};

fn logged(path: &Path, line: &str) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|logged| *logged == line).count()
}

/// Waits until the condition holds, because another process takes time.
async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not happen within ten seconds");
}

/// Starts a shell that notes its process id, and the server below it.
fn below_a_shell(pid_file: &Path) -> McpCommand {
    let exe = std::env::current_exe().unwrap();
    let script =
        format!("echo $$ > '{}'; '{}' --exact is_server --nocapture; exit 0", pid_file.display(), exe.display());
    McpCommand::new("sh").args(["-c", &script]).env("PLEACH_MCP_TEST_SERVER", "1")
}

fn is_running(pid: &str) -> bool {
    // A zombie would also be listed here, so the process must be reaped.
    Path::new("/proc").join(pid.trim()).exists()
}

#[tokio::test]
async fn nothing_starts_before_it_is_needed_and_one_process_serves_all() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let toolset = McpToolset::builder(command().env(server::LOG, log.to_str().unwrap())).build().unwrap();
    assert!(!log.exists());
    let listed = futures_util::future::join_all((0..20).map(|_| toolset.list_resources(None))).await;
    assert!(listed.iter().all(Result::is_ok));
    assert_eq!(toolset.list_tools(None).await.unwrap().len(), 13);
    assert_eq!(toolset.list_tools(None).await.unwrap().len(), 13);
    assert_eq!(logged(&log, "list"), 1, "the list is kept");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_and_its_children_end_with_the_toolset() {
    let folder = tempfile::tempdir().unwrap();
    for is_closed in [true, false] {
        let pid_file = folder.path().join(format!("pid-{is_closed}"));
        let toolset = McpToolset::builder(below_a_shell(&pid_file)).build().unwrap();
        toolset.list_tools(None).await.unwrap();
        let pid = std::fs::read_to_string(&pid_file).unwrap();
        let group = || {
            let members = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(|entry| {
                let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                let fields = stat.rsplit_once(')').map(|(_, fields)| fields.split(' ').collect::<Vec<_>>());
                fields.is_some_and(|fields| fields.get(3) == Some(&pid.trim()))
            });
            members.count()
        };
        assert!(group() >= 2, "the shell and the server are in a group");
        if is_closed {
            toolset.close().await.unwrap();
            assert!(!is_running(&pid));
            assert_eq!(toolset.list_tools(None).await.unwrap_err(), McpError::Closed { server: "sh".to_owned() });
        } else {
            drop(toolset);
            until(|| !is_running(&pid)).await;
        }
        until(|| group() == 0).await;
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_ends_with_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let toolset = McpToolset::builder(below_a_shell(&pid_file)).build().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime().block_on(async { toolset.list_tools(None).await.map(drop) }).unwrap();
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    // The session ended with its runtime. Another runtime opens another session.
    let second = runtime();
    second.block_on(async {
        assert_eq!(toolset.list_resources(None).await.unwrap().len(), 1);
        until(|| !is_running(&pid)).await;
        toolset.close().await.unwrap();
    });
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_named_and_left_alone_after_a_while() {
    let toolset = McpToolset::builder(McpCommand::new("/nowhere/mcp-server")).build().unwrap();
    for _ in 0..3 {
        let error = toolset.list_tools(None).await.unwrap_err();
        let expected = "the MCP server `mcp-server` cannot be started: there is no program `/nowhere/mcp-server`: install it, or name its path";
        assert_eq!(error.to_string(), expected);
    }
    let error = toolset.list_tools(None).await.unwrap_err();
    assert!(matches!(error, McpError::Waiting { .. }), "{error}");
    assert!(error.to_string().contains("is not tried again for 1 s; before that: the MCP server"), "{error}");

    let elsewhere = McpToolset::builder(command().current_dir("/nowhere")).name("s").build().unwrap();
    let error = elsewhere.list_tools(None).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `s` cannot be started: its directory `/nowhere` is not there");

    let ends = McpToolset::builder(McpCommand::new("sh").args(["-c", "exit 3"])).name("s").build().unwrap();
    let error = ends.list_tools(None).await.unwrap_err();
    assert!(matches!(error, McpError::Connect { .. }), "{error}");
}

// The agent keeps the last list while the server is down, and reaches the server again after its restart.
#[tokio::test]
async fn an_http_server_that_was_killed_is_reached_again() {
    let running = server::http::serve().await;
    let toolset = McpToolset::builder(McpEndpoint::new(running.url())).build().unwrap();
    assert_eq!(toolset.list_tools(None).await.unwrap().len(), 13);
    let address = running.kill().await;
    let error = toolset.list_resources(None).await.unwrap_err();
    assert!(matches!(error, McpError::Lost { .. } | McpError::Connect { .. }), "{error}");
    assert!(error.to_string().contains("onnection"), "{error}");
    let names: Vec<String> =
        toolset.list_tools(None).await.unwrap().iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names.len(), 13);
    let _running = server::http::serve_at(address).await;
    assert_eq!(toolset.list_resources(None).await.unwrap().len(), 1);
    assert_eq!(toolset.list_tools(None).await.unwrap().len(), 13);
    toolset.close().await.unwrap();
}
