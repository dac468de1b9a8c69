//! Calls of servers that return odd results or flood a call with messages.

use pleach::mcp::{McpEndpoint, McpToolset};
use serde_json::{Value, json};

use crate::server::scripted::{self, HttpRequest, Reply, event};
use crate::{call, error, in_node, tool_of};

/// Calls the tool `a` of a server that answers with `reply`, and returns the response that the model gets.
pub(crate) async fn called(reply: impl Fn(&HttpRequest) -> Reply + Send + Sync + 'static) -> Value {
    let server = scripted::serve(move |asked| (asked.method() == "tools/call").then(|| reply(asked))).await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).name("s").build().unwrap();
    in_node(|ctx| async move {
        let response = call(&tool_of(&toolset, "a").await, json!({}), &ctx).await;
        drop(server);
        Value::Object(response.response.unwrap())
    })
    .await
}

#[tokio::test]
async fn an_odd_content_loses_neither_the_structured_content_nor_the_good_blocks() {
    let good = json!({"type": "text", "text": "good"});
    for content in [
        json!([good, {"type": "hologram"}]),
        json!([good, {"type": "image"}]),
        json!([good, {"type": "text", "text": 7}]),
        json!([good, {"text": "no type"}]),
        json!([good, null]),
        json!([good, 7, "x", []]),
        good.clone(),
    ] {
        let result = json!({"content": content, "structuredContent": {"sum": 3}, "isError": "false"});
        for streamed in [false, true] {
            let result = result.clone();
            let given = called(move |asked| {
                if streamed {
                    Reply::events(&event(&asked.answer(result.clone())))
                } else {
                    Reply::json(&asked.answer(result.clone()))
                }
            });
            let given = given.await;
            assert_eq!(given["structuredContent"], json!({"sum": 3}), "{content}");
            assert_eq!(given["content"][0], good, "{content}");
            assert_eq!(given["isError"], false);
        }
    }
}

#[tokio::test]
async fn texts_that_json_does_not_allow_reach_the_model_repaired() {
    let body = r#"{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"a\ud83d\u0000b"}],"structuredContent":{"x":NaN}}}"#;
    let given = called(move |_| Reply::new("200 OK", "application/json", body)).await;
    assert_eq!(given["content"][0]["text"], "a\u{fffd}\u{fffd}b");
    assert_eq!(given["structuredContent"], json!({"x": null}));
}

// The server sends the pings in the stream of the answer, and the client replies to each with a request of its own.
#[tokio::test]
async fn pings_without_end_end_the_call_with_the_limit() {
    let ping = event(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let server =
        scripted::serve(move |asked| (asked.method() == "tools/call").then(|| Reply::flood("", &ping.repeat(50))))
            .await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).name("s").build().unwrap();
    in_node(|ctx| async move {
        let response = call(&tool_of(&toolset, "a").await, json!({}), &ctx).await;
        assert_eq!(
            error(&response),
            "the MCP server `s` was disconnected: it exceeded `max_server_requests`, which is 256"
        );
        drop(server);
    })
    .await;
}
