//! Results of servers with which users of other clients had problems. Each test names the report, and checks the
//! response that the model gets.

use pleach::mcp::{McpEndpoint, McpToolset};
use pleach::prelude::*;
use serde_json::{Value, json};

use crate::odd_results::called;
use crate::server::scripted::{self, Reply, Scripted};

async fn given(result: Value) -> Value {
    called(move |asked| Reply::json(&asked.answer(result.clone()))).await
}

/// The content is one object without a type, as in the first documents of the protocol.
#[tokio::test]
async fn inspector_84_a_content_that_is_one_object() {
    let given = given(json!({"content": {"mimeType": "application/json", "text": "[1]"}})).await;
    assert_eq!(given["content"], json!([{"mimeType": "application/json", "text": "[1]"}]));
}

/// Clients dropped the structured content of an error, or the error of a result with structured content.
#[tokio::test]
async fn langchain_mcp_adapters_619_and_mastra_23330_a_structured_error() {
    let structured = json!({"code": "RATE_LIMITED", "retry_after": 30});
    for content in [json!([]), json!([{"type": "text", "text": "slow down"}]), json!(null)] {
        let given = given(json!({"isError": true, "structuredContent": structured, "content": content})).await;
        assert_eq!((&given["structuredContent"], &given["isError"]), (&structured, &json!(true)), "{content}");
        assert_eq!(given["content"], if content.is_null() { json!([]) } else { content });
    }
}

/// The content is only a summary; all data is in the structured content.
#[tokio::test]
async fn kimi_code_2554_and_langchain_mcp_adapters_283_a_summary_beside_the_data() {
    let content = json!([{"type": "text", "text": "list_projects returned 6 item(s)."}]);
    let projects = json!({"projects": [1, 2, 3, 4, 5, 6]});
    let given = given(json!({"content": content, "structuredContent": projects})).await;
    assert_eq!((&given["content"], &given["structuredContent"]), (&content, &projects));
}

/// Clients dropped the names and URIs of links and embedded resources.
#[tokio::test]
async fn langchain_40499_what_describes_a_resource() {
    let link =
        json!({"type": "resource_link", "uri": "x:1", "name": "one", "title": "One", "description": "d", "size": 3});
    let text = json!({"type": "resource", "resource": {"uri": "x:2", "text": "words", "mimeType": "text/plain"}});
    let blob = json!({"type": "resource", "resource": {"uri": "x:3", "blob": "cGRm"}});
    let given = given(json!({"content": [link, text, blob]})).await;
    assert_eq!((&given["content"][0], &given["content"][1]), (&link, &text));
    assert_eq!(given["content"][2]["resource"]["uri"], "x:3");
}

async fn with_tool(name: &'static str) -> (McpToolset, Scripted) {
    let server = scripted::serve(|asked| match asked.method() {
        "tools/list" => Some(Reply::json(&asked.answer(json!({"tools": [{"name": "send_email", "inputSchema": {}}]})))),
        _ => None,
    })
    .await;
    (McpToolset::builder(McpEndpoint::new(&server.url)).name(name).build().unwrap(), server)
}

/// Two servers have tools with the same name, and the provider refuses a request that declares a name twice.
#[tokio::test]
async fn langchain_mcp_adapters_605_two_servers_with_one_name() {
    let ((one, first), (two, second)) = (with_tool("one").await, with_tool("two").await);
    let model = std::sync::Arc::new(ScriptedModel::new().then_call("send_email", json!({})).then_text("sent"));
    let agent =
        LlmAgent::builder("helper").model(std::sync::Arc::clone(&model)).toolset(one).toolset(two).build().unwrap();
    let runner = Runner::builder("demo").root(agent).build().unwrap();
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "sent");
    for request in model.requests() {
        let declared: Vec<_> = request.declarations().filter_map(|function| function.name.as_deref()).collect();
        assert_eq!(declared, ["send_email"]);
    }
    assert_eq!((first.count("tools/call"), second.count("tools/call")), (1, 0), "the first one is called");
}
