//! Tests that set-up errors name the faulty part and show no secret.

use pleach_mcp::{McpCommand, McpEndpoint, McpServer, McpSetupError, McpToolset};

fn refused(server: impl Into<McpServer>) -> McpSetupError {
    McpToolset::builder(server).name("s").build().unwrap_err()
}

#[test]
fn what_cannot_be_used_is_named() {
    let endpoint = || McpEndpoint::new("https://example.com/mcp");
    let far = || McpEndpoint::new("http://example.com/mcp");
    for (error, expected) in [
        (refused(McpCommand::new(" ")), "the command of the MCP server `s` is empty: name a program"),
        (refused(McpCommand::new("a").arg("b\0")), "has a NUL character"),
        (refused(McpCommand::new("a").env("A=B", "hush")), "cannot get the variable `A=B`"),
        (refused(McpCommand::new("a").env("A", "hush\0")), "cannot get the variable `A`: its value has a NUL"),
        (refused(McpEndpoint::new("hush.example.com")), "the URL of the MCP server `s` cannot be read"),
        (refused(McpEndpoint::new("ws://example.com?key=hush")), "must begin with `https://` or `http://`"),
        (refused(McpEndpoint::new("https://me:hush@example.com")), "contains a user name or password"),
        (refused(endpoint().header("x y", "hush")), "cannot get the header `x y`: its name has characters"),
        (refused(endpoint().header("x-key", "hush\n")), "cannot get the header `x-key`: its value has a line break"),
        (refused(endpoint().header("Mcp-Session-Id", "1")), "`Mcp-Session-Id`: the protocol sets it itself"),
        (refused(endpoint().header("Host", "hush")), "cannot get the header `Host`: the protocol sets it itself"),
        (refused(endpoint().header("TE", "hush")), "cannot get the header `TE`: the connection sets it itself"),
        (refused(endpoint().header("Connection", "hush")), "`Connection`: the connection sets it itself"),
        (refused(endpoint().header("transfer-encoding", "hush")), "the connection sets it itself"),
        (refused(McpEndpoint::new("http://example.com/mcp?hush")), "at `example.com` without encryption"),
        (refused(McpEndpoint::new("http://[::ffff:10.0.0.1]/?hush")), "at `[::ffff:a00:1]` without encryption"),
        (refused(far().header("x-key", "hush")), "at `example.com` without encryption: use https"),
        (refused(McpEndpoint::new("http://example.com/mcp?key=hush")), "at `example.com` without encryption"),
        (refused(far().session_headers(|_| async { Ok([("x-key", "hush")]) })), "without encryption"),
    ] {
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains("hush") && !format!("{error:?}").contains("hush"), "{text}");
    }
    for prefix in ["", "a b", "1st"] {
        let error = McpToolset::builder(McpCommand::new("a")).prefix(prefix).build().unwrap_err();
        assert!(error.to_string().contains(&format!("the prefix `{prefix}`")), "{error}");
    }
    assert!(McpToolset::builder(far()).build().is_ok());
    assert!(McpToolset::builder(far().header("x-key", "k").allow_plain_http()).build().is_ok());
    for host in ["[::1]", "[::ffff:127.0.0.1]", "localhost", "localhost.", "mcp.localhost"] {
        let endpoint = McpEndpoint::new(format!("http://{host}:8000/mcp?hush")).header("x-key", "k");
        assert!(McpToolset::builder(endpoint).build().is_ok(), "{host}");
    }
}

#[test]
fn debug_output_shows_no_value() {
    let command = McpCommand::new("npx").arg("--key=hush").env("TOKEN", "hush");
    let endpoint = McpEndpoint::new("https://example.com/mcp?key=hush").header("authorization", "hush");
    let builder = McpToolset::builder(command.clone());
    let shown = format!("{command:?} {endpoint:?} {builder:?} {:?}", McpServer::from(endpoint.clone()));
    assert!(shown.contains("TOKEN") && shown.contains("authorization") && !shown.contains("hush"), "{shown}");
    let toolset = McpToolset::builder(endpoint).build().unwrap();
    assert_eq!(format!("{toolset:?}"), r#"McpToolset { name: "example.com", .. }"#);
}
