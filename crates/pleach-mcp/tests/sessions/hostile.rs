//! Tests of servers that break the rules of the protocol.

use std::time::Duration;

use pleach_context::Tool as _;
use pleach_mcp::{McpCommand, McpError, McpToolset};

/// Returns a server that is a shell script. It answers the first exchange, and then runs `then`. `answer RESULT`
/// answers the next request.
pub(crate) fn script(then: &str) -> McpCommand {
    let prelude = r#"
        next() { read -r line; id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p'); }
        answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
        next
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
        next
    "#;
    McpCommand::new("sh").args(["-c", &format!("{prelude}\n{then}")])
}

fn toolset(command: McpCommand) -> McpToolset {
    let builder = McpToolset::builder(command).name("s").max_message_bytes(100_000);
    builder.connect_timeout(Duration::from_secs(20)).build().unwrap()
}

pub(crate) async fn names(command: McpCommand) -> Result<Vec<String>, McpError> {
    let tools = toolset(command).list_tools(None).await?;
    Ok(tools.iter().map(|tool| tool.name().to_owned()).collect())
}

#[tokio::test]
async fn lines_that_are_no_json_are_passed_over() {
    let noise = r#"echo starting up...; echo '{"broken'; printf '\377\376\n'; echo '[]'; echo '{}'; "#;
    let listed = names(script(&format!(
        r#"{noise} next; {noise} answer '{{"tools":[{{"name":"a","inputSchema":{{}}}}]}}'; cat > /dev/null"#
    )));
    assert_eq!(listed.await.unwrap(), ["a"]);
}

// Names that models refuse are changed or left out. If several tools have one name, the first one is used.
#[tokio::test]
async fn names_are_made_fit_for_models() {
    let long = "x".repeat(65);
    let tools: Vec<String> = ["b/read.file", "b_read_file", "1st", "", &long, "transfer_to_agent", "a", "a"]
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    let listed = names(script(&format!("next; answer '{{\"tools\":[{}]}}'; cat > /dev/null", tools.join(","))));
    assert_eq!(listed.await.unwrap(), ["_1st", "a", "b_read_file"]);
}

#[tokio::test]
async fn a_message_above_the_limit_ends_the_session_at_once() {
    let error = names(script("next; head -c 200000 /dev/zero | tr '\\0' x; sleep 60")).await.unwrap_err();
    assert_eq!(error, McpError::TooLarge { server: "s".to_owned(), limit: 100_000 });
    let error = names(McpCommand::new("sh").args(["-c", "head -c 200000 /dev/zero; sleep 60"])).await.unwrap_err();
    assert_eq!(error, McpError::TooLarge { server: "s".to_owned(), limit: 100_000 });
}

#[tokio::test]
async fn a_list_without_end_is_cut() {
    let page = r#"answer "{\"tools\":[{\"name\":\"t$id\",\"inputSchema\":{}}],\"nextCursor\":\"more\"}""#;
    let listed = names(script(&format!("while true; do next; {page}; done"))).await.unwrap();
    assert_eq!(listed.len(), 200);
}

#[tokio::test]
async fn a_server_that_hangs_runs_into_the_time_out() {
    let limit = Duration::from_millis(300);
    let hanging = McpToolset::builder(McpCommand::new("sleep").arg("60")).connect_timeout(limit).build().unwrap();
    let expected = McpError::Timeout { server: "sleep".to_owned(), what: "open a session", limit };
    assert_eq!(hanging.list_tools(None).await.unwrap_err(), expected);
    let silent = McpToolset::builder(script("sleep 60")).name("s").list_timeout(limit).build().unwrap();
    let expected = McpError::Timeout { server: "s".to_owned(), what: "list its tools", limit };
    assert_eq!(silent.list_tools(None).await.unwrap_err(), expected);
    assert_eq!(expected.to_string(), "the MCP server `s` did not list its tools within 0.3 s");
}

// The second process of the server lists its tools. The first one is silent after the first exchange.
#[tokio::test]
async fn a_server_that_hangs_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    let hangs_once = format!(
        r#"if mkdir '{}' 2>/dev/null; then cat > /dev/null; else next; answer '{{"tools":[{{"name":"a","inputSchema":{{}}}}]}}'; cat > /dev/null; fi"#,
        begun.display()
    );
    let limit = Duration::from_millis(300);
    let toolset = McpToolset::builder(script(&hangs_once)).name("s").list_timeout(limit).build().unwrap();
    assert!(matches!(toolset.list_tools(None).await, Err(McpError::Timeout { .. })));
    assert_eq!(toolset.list_tools(None).await.unwrap()[0].name(), "a");
}

// If a server is slow for only one request, its session is kept.
#[tokio::test]
async fn a_slow_server_that_answers_a_ping_is_kept() {
    let slow =
        r#"next; next; next; answer '{}'; next; answer '{"tools":[{"name":"b","inputSchema":{}}]}'; cat > /dev/null"#;
    let limit = Duration::from_millis(300);
    let toolset = McpToolset::builder(script(slow)).name("s").list_timeout(limit).build().unwrap();
    assert!(matches!(toolset.list_tools(None).await, Err(McpError::Timeout { .. })));
    assert_eq!(toolset.list_tools(None).await.unwrap()[0].name(), "b");
}

#[tokio::test]
async fn what_a_server_says_of_its_secrets_is_hidden() {
    let refuses = r#"next; printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s is wrong"}}\n' "$id" "$API_KEY"; cat"#;
    let error = names(script(refuses).env("API_KEY", "k-hush-1")).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `s` refused: … is wrong (-32000)");
}

#[tokio::test]
async fn answers_that_are_none_are_errors() {
    for (answer, kind) in [
        (r#"answer '{"tools":"none"}'"#, "sent a response of the wrong kind"),
        (r#"answer '{"prompts":[]}'"#, "sent a response of the wrong kind"),
        ("exit 0", "ended the connection before it answered"),
    ] {
        let error = names(script(&format!("next; {answer}; cat > /dev/null"))).await.unwrap_err();
        assert!(error.to_string().contains(kind), "{error}");
    }
}
