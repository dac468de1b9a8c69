//! Tests of sessions with servers, from the first exchange to restarts.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

#[path = "../server/mod.rs"]
mod server;

mod floods;
mod hostile;
mod lifetime;
mod lists;
mod odd_lists;
mod output;
mod reports;
mod restarts;
mod setup;

#[test]
fn is_server() {
    server::serve_if_asked();
}

/// The command of the server.
fn command() -> pleach_mcp::McpCommand {
    server::command("is_server")
}
