//! Sessions with servers: how they begin, what they list, how they end, and how they begin again.
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
