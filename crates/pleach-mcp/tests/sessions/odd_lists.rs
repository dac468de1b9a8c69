//! Tests of lists and results with invalid members, which are left out without affecting the rest.

use pleach_context::Tool as _;
use pleach_mcp::{McpEndpoint, McpToolset};
use serde_json::{Value, json};

use crate::server::scripted::{self, Reply, Scripted};

async fn serving(method: &'static str, result: Value) -> (McpToolset, Scripted) {
    let server =
        scripted::serve(move |asked| (asked.method() == method).then(|| Reply::json(&asked.answer(result.clone()))))
            .await;
    (McpToolset::builder(McpEndpoint::new(&server.url)).name("s").build().unwrap(), server)
}

/// Values of every JSON type.
fn odd_values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(7),
        json!(-1.5),
        json!("text"),
        json!([]),
        json!([7, {}]),
        json!({}),
        json!({"a": [null]}),
    ]
}

async fn tools(result: Value) -> Vec<String> {
    let (toolset, _server) = serving("tools/list", result).await;
    toolset.list_tools(None).await.unwrap().iter().map(|tool| tool.name().to_owned()).collect()
}

#[tokio::test]
async fn tools_are_kept_without_their_odd_members() {
    let members = ["title", "description", "annotations", "icons", "_meta", "outputSchema", "execution", "extra"];
    for value in odd_values() {
        let odd: serde_json::Map<String, Value> =
            members.iter().map(|member| ((*member).to_owned(), value.clone())).collect();
        let mut tool =
            json!({"name": "odd", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}});
        tool.as_object_mut().unwrap().extend(odd);
        let (toolset, _server) = serving(
            "tools/list",
            json!({"tools": [tool, {"name": "good", "inputSchema": {}}], "_meta": value, "ttl": value}),
        )
        .await;
        let tools = toolset.list_tools(None).await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        assert_eq!(names, ["good", "odd"], "{value}");
        assert_eq!(tools[1].input_schema()["properties"]["n"]["type"], "integer");
        assert_eq!(tools[1].title(), value.as_str());
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"] {
            let tool = json!({"name": "a", "inputSchema": {}, "annotations": {hint: value}});
            assert_eq!(self::tools(json!({"tools": [tool]})).await, ["a"], "{hint} {value}");
        }
    }
}

#[tokio::test]
async fn tools_that_cannot_be_called_are_left_out_alone() {
    for value in odd_values() {
        let unnamed = json!({"name": value, "inputSchema": {}});
        let other = json!({"name": "b", "inputSchema": value});
        let listed = tools(json!({"tools": [unnamed, other, value, {"name": "a", "inputSchema": {}}]})).await;
        let is_callable = value.is_object() || value.is_null() || value == json!(true) || value == json!([]);
        let mut expected = vec!["a"];
        expected.extend(is_callable.then_some("b"));
        expected.extend(value.as_str());
        assert_eq!(listed, expected, "{value}");
    }
    assert_eq!(tools(json!({"tools": [{"name": "a"}], "nextCursor": {"x": 1}})).await, ["a"]);
    assert_eq!(tools(json!({"tools": null})).await, [] as [&str; 0]);
}

#[tokio::test]
async fn prompts_are_kept_without_their_odd_members() {
    for value in odd_values() {
        let arguments =
            json!([{"name": "city", "description": value, "required": value, "title": value}, {"name": value}, value]);
        let odd = json!({"name": "a", "title": value, "description": value, "arguments": arguments, "icons": value, "_meta": value});
        let prompts = json!([odd, {"name": "b", "arguments": value}, {"title": "unnamed"}, value]);
        let (toolset, _server) = serving("prompts/list", json!({"prompts": prompts})).await;
        let prompts = toolset.list_prompts(None).await.unwrap();
        let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["a", "b"], "{value}");
        assert_eq!(prompts[0].arguments[0].name, "city");
        assert_eq!(prompts[0].arguments[0].is_required, value == json!(true), "{value}");
    }
}

#[tokio::test]
async fn resources_and_templates_are_kept_without_their_odd_members() {
    for value in odd_values() {
        let odd = json!({"name": value, "title": value, "description": value, "mimeType": value, "size": value, "annotations": value, "icons": value});
        let with = |key: &str, uri: Value| {
            let mut resource = odd.clone();
            resource[key] = uri;
            resource
        };
        let listed = json!({"resources": [with("uri", json!("x:1")), with("uri", json!(7)), value, {"uri": "x:2", "name": "two"}]});
        let (toolset, _server) = serving("resources/list", listed).await;
        let resources = toolset.list_resources(None).await.unwrap();
        let uris: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
        assert_eq!(uris, ["x:1", "x:2"], "{value}");
        assert_eq!(resources[0].size, value.as_u64());
        let listed =
            json!({"resourceTemplates": [with("uriTemplate", json!("x:{a}")), with("uriTemplate", json!([])), value]});
        let (toolset, _server) = serving("resources/templates/list", listed).await;
        let templates = toolset.list_resource_templates(None).await.unwrap();
        assert_eq!((templates.len(), templates[0].uri_template.as_str()), (1, "x:{a}"), "{value}");
    }
}

#[tokio::test]
async fn contents_and_messages_that_are_odd_are_left_out_alone() {
    for value in odd_values() {
        let contents = json!([{"uri": "x:1", "text": "a", "mimeType": value}, {"uri": value, "text": "b"}, {"uri": "x:3", "blob": value}, value]);
        let (toolset, _server) = serving("resources/read", json!({"contents": contents})).await;
        let read = toolset.read_resource("x:1", None).await.unwrap();
        let texts: Vec<_> = read.iter().filter_map(|contents| contents.part.text.as_deref()).collect();
        assert_eq!(texts, ["a", "b"], "{value}");

        let messages = json!([
            {"role": "user", "content": {"type": "text", "text": "a"}},
            {"role": value, "content": "b"},
            {"role": "assistant", "content": [{"type": "text", "text": "c"}, value, {"type": "image", "data": value}]},
            {"role": "user", "content": {"type": "new", "x": value}},
        ]);
        let (toolset, _server) = serving("prompts/get", json!({"messages": messages, "description": value})).await;
        let read = toolset.get_prompt("p", serde_json::Map::new(), None).await.unwrap();
        let texts: Vec<String> = read.iter().map(pleach_core::Content::text).collect();
        assert_eq!(texts[..2], ["a", "b"], "{value}");
        assert!(texts[2].starts_with('c'), "{value}");
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_read_ends_the_list_and_no_more() {
    for broken in [
        json!({"error": {"code": -32602, "message": "no such cursor"}}),
        json!({"result": {"resources": "x"}}),
        json!({"result": []}),
        json!({}),
    ] {
        let server = scripted::serve(move |asked| {
            if asked.method() != "resources/list" {
                return None;
            }
            let first = json!({"resources": [{"uri": "x:1", "name": "one"}], "nextCursor": "2"});
            Some(match asked.message["params"]["cursor"].as_str() {
                None => Reply::json(&asked.answer(first)),
                Some(_) => Reply::json(&broken),
            })
        })
        .await;
        let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).build().unwrap();
        assert_eq!(toolset.list_resources(None).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn an_odd_first_exchange_begins_a_session() {
    for value in odd_values() {
        let mut introductions = vec![
            json!({"protocolVersion": "2025-06-18", "capabilities": value, "serverInfo": value, "instructions": value, "_meta": value}),
            json!({"protocolVersion": value, "capabilities": {"tools": value, "logging": value, "experimental": value}}),
        ];
        introductions.push(json!({}));
        for introduction in introductions {
            let shown = introduction.to_string();
            let server = scripted::serve(move |asked| {
                (asked.method() == "initialize").then(|| Reply::json(&asked.answer(introduction.clone())))
            })
            .await;
            let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).build().unwrap();
            assert_eq!(toolset.list_tools(None).await.unwrap().len(), 1, "{shown}");
        }
    }
}

#[tokio::test]
async fn texts_that_json_does_not_allow_are_repaired() {
    let server = scripted::serve(|asked| {
        let id = asked.id();
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"tools\":[{{\"name\":\"a\",\"description\":\"x\\ud83d\\u0000y\nz\",\
             \"inputSchema\":{{\"type\":\"object\",\"maximum\":NaN,\"x\":1e999}}}}]}}}}"
        );
        (asked.method() == "tools/list").then(|| Reply::new("200 OK", "application/json", &body))
    })
    .await;
    let toolset = McpToolset::builder(McpEndpoint::new(&server.url)).build().unwrap();
    let tools = toolset.list_tools(None).await.unwrap();
    assert_eq!(tools[0].description(), "x\u{fffd}\u{fffd}y\nz");
}
