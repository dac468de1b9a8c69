//! Tests of servers that failed with other clients. Each test is named after the users' report.

use std::sync::atomic::{AtomicUsize, Ordering};

use pleach_context::Tool as _;
use pleach_mcp::{McpEndpoint, McpTool, McpToolset};
use serde_json::{Value, json};

use crate::hostile::{names as names_of_child, script};
use crate::server::scripted::{self, Reply, Scripted};

/// Returns the tools of a server that lists these.
async fn tools(listed: Value) -> (Vec<McpTool>, Scripted) {
    let page = json!({"tools": listed});
    let server = scripted::serve(move |asked| {
        (asked.method() == "tools/list").then(|| Reply::json(&asked.answer(page.clone())))
    })
    .await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).build().unwrap();
    (toolset.list_tools(None).await.unwrap(), server)
}

fn names(tools: &[McpTool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name()).collect()
}

/// Every schema is an empty object, and clients showed no tool at all.
#[tokio::test]
async fn gitlab_mcp_286_empty_schemas() {
    let listed = json!([
        {"name": "merge_merge_request", "description": "Merge a merge request in a GitLab project", "inputSchema": {}},
        {"name": "execute_graphql", "description": "Execute a GitLab GraphQL query", "inputSchema": {}},
    ]);
    let (tools, _server) = tools(listed).await;
    assert_eq!(names(&tools), ["execute_graphql", "merge_merge_request"]);
    assert_eq!(tools[0].declaration().unwrap().parameters_json_schema, None);
}

/// One tool has no schema, and clients got an error instead of the list of tools.
#[tokio::test]
async fn mastra_21859_a_tool_without_a_schema() {
    let good = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let (tools, _server) = tools(json!([{"name": "goodTool", "inputSchema": good}, {"name": "badTool"}])).await;
    assert_eq!(names(&tools), ["badTool", "goodTool"]);
}

/// PHP frameworks write an empty object as an empty list, even inside a schema.
#[tokio::test]
async fn lists_for_empty_objects() {
    let listed = json!([
        {"name": "a", "inputSchema": []},
        {"name": "b", "inputSchema": {"type": "object", "properties": [], "required": []}, "annotations": [], "_meta": []},
    ]);
    let (tools, _server) = tools(listed).await;
    assert_eq!(names(&tools), ["a", "b"]);
}

/// The schema of results has no type, and clients showed no tool.
#[tokio::test]
async fn claude_code_10825_output_schemas_without_a_type() {
    let output = json!({"anyOf": [{"type": "string"}, {"type": "object"}], "$schema": "http://json-schema.org/draft-07/schema#"});
    let (tools, _server) =
        tools(json!([{"name": "View", "inputSchema": {"type": "object"}, "outputSchema": output}])).await;
    assert_eq!(names(&tools), ["View"]);
    assert_eq!(Value::Object(tools[0].output_schema().unwrap().clone()), output);
}

/// The schema of one property is `true`, and a client lost all 311 tools.
#[tokio::test]
async fn hermes_agent_101804_boolean_schemas_of_properties() {
    let schema = json!({"type": "object", "properties": {"any": true, "none": false, "n": {"type": "integer"}}});
    let (tools, _server) =
        tools(json!([{"name": "odd", "inputSchema": schema}, {"name": "good", "inputSchema": {}}])).await;
    assert_eq!(names(&tools), ["good", "odd"]);
    assert_eq!(tools[1].input_schema()["properties"]["any"], true);
}

/// The schema of the arguments is among the annotations.
#[tokio::test]
async fn inspector_429_a_schema_in_the_annotations() {
    let schema = json!({"type": "object", "properties": {"username": {"type": "string"}}, "required": ["username"]});
    let listed = json!([{"name": "sf_connect", "inputSchema": {"type": "object"}, "annotations": schema}]);
    let (tools, _server) = tools(listed).await;
    assert_eq!((names(&tools), tools[0].annotations().read_only), (vec!["sf_connect"], None));
}

/// Optional members are `null`.
#[tokio::test]
async fn inspector_987_members_that_are_null() {
    let listed = json!([{"name": "a", "title": null, "icons": null, "outputSchema": null, "annotations": null,
        "execution": null, "inputSchema": {"type": "object"}}]);
    assert_eq!(names(&tools(listed).await.0), ["a"]);
}

/// The cursor after the last page is an empty string, and clients requested pages without end.
#[tokio::test]
async fn java_sdk_628_and_langchain_mcp_adapters_234_an_empty_cursor() {
    let server = scripted::serve(|asked| {
        let page = json!({"tools": [{"name": "a", "inputSchema": {}}], "nextCursor": ""});
        (asked.method() == "tools/list").then(|| Reply::json(&asked.answer(page)))
    })
    .await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).build().unwrap();
    assert_eq!(names(&toolset.list_tools(None).await.unwrap()), ["a"]);
    assert_eq!(server.count("tools/list"), 1);
}

/// The cursor of the only page leads to the same page again, and a client listed tools, resources and prompts twenty
/// times.
#[tokio::test]
async fn codebase_memory_mcp_1247_a_cursor_that_gives_the_page_again() {
    let server = scripted::serve(|asked| {
        let page = match asked.method() {
            "tools/list" => json!({"tools": [{"name": "a", "inputSchema": {}}, {"name": "b"}], "nextCursor": "8"}),
            "resources/list" => json!({"resources": [{"uri": "x:1"}, {"uri": "x:2"}], "nextCursor": "8"}),
            "prompts/list" => json!({"prompts": [{"name": "p"}], "nextCursor": "8"}),
            _ => return None,
        };
        Some(Reply::json(&asked.answer(page)))
    })
    .await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).build().unwrap();
    assert_eq!(names(&toolset.list_tools(None).await.unwrap()), ["a", "b"]);
    assert_eq!(toolset.list_resources(None).await.unwrap().len(), 2);
    assert_eq!(toolset.list_prompts(None).await.unwrap().len(), 1);
    assert_eq!(server.count("tools/list"), 2);
}

/// Some clients dropped all pages but the first.
#[tokio::test]
async fn python_sdk_2556_all_pages_are_read() {
    let server = scripted::serve(|asked| {
        let page: usize = asked.message["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
        let tools: Vec<Value> = (0..14).map(|tool| json!({"name": format!("t{page}_{tool}")})).collect();
        let next = (page < 2).then(|| (page + 1).to_string());
        (asked.method() == "tools/list")
            .then(|| Reply::json(&asked.answer(json!({"tools": tools, "nextCursor": next}))))
    })
    .await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).build().unwrap();
    assert_eq!(toolset.list_tools(None).await.unwrap().len(), 42);
}

/// A restarted server refuses its earlier session, but clients used that session forever.
#[tokio::test]
async fn adk_python_6822_and_mastra_7675_a_session_that_was_ended_at_the_server() {
    for (status, body) in [
        (
            "404 Not Found",
            json!({"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}),
        ),
        (
            "400 Bad Request",
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}}),
        ),
    ] {
        let refusals = AtomicUsize::new(1);
        let server = scripted::serve(move |asked| {
            let is_first = asked.method() == "resources/read" && refusals.swap(0, Ordering::Relaxed) > 0;
            is_first.then(|| Reply::error(status, &body))
        })
        .await;
        let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).name("s").build().unwrap();
        let error = toolset.read_resource("x:1", None).await.unwrap_err();
        assert!(error.to_string().contains("ession"), "{error}");
        assert_eq!(toolset.read_resource("x:1", None).await.unwrap().len(), 1);
        assert_eq!(server.count("initialize"), 2);
    }
}

/// Servers print log text to standard output before, between and on the lines of their messages.
#[tokio::test]
async fn esp_idf_19087_dash_mcp_server_10_open_websearch_35_logs_on_standard_output() {
    for log in [
        "Executing action: mcp-server\\nMCP Server running on stdio...\\n",
        "Processing request of type ListToolsRequest\\n\\n",
        "🖥️ Server mode: STDIO\\n",
        "Azure DevOps MCP Server version : 1.0",
        "[2026-09-01 10:00:00] INFO {\"event\":\"start\"} ",
    ] {
        let list = r#"{"tools":[{"name":"a","inputSchema":{}}]}"#;
        let child = script(&format!("next; printf '{log}'; answer '{list}'; cat > /dev/null"));
        assert_eq!(names_of_child(child).await.unwrap(), ["a"], "{log}");
    }
}
