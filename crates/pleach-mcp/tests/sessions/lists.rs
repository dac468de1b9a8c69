//! Tests of tools, resources and prompts of a child process and of a server over HTTP.

use pleach_context::Tool as _;
use pleach_core::Part;
use pleach_mcp::{McpEndpoint, McpError, McpToolset, McpToolsetBuilder};
use serde_json::json;

use crate::{command, server};

/// Returns a toolset for each transport. The second value keeps the HTTP server up.
async fn both(set: fn(McpToolsetBuilder) -> McpToolsetBuilder) -> ([McpToolset; 2], server::http::Running) {
    let running = server::http::serve().await;
    let child = set(McpToolset::builder(command()).name("child")).build().unwrap();
    let http = set(McpToolset::builder(McpEndpoint::new(running.url())).name("http")).build().unwrap();
    ([child, http], running)
}

#[tokio::test]
async fn tools_have_names_schemas_and_hints_of_the_server() {
    let (toolsets, _running) = both(|builder| builder.prefix("t").only(["echo", "add"])).await;
    for toolset in toolsets {
        let tools = toolset.list_tools(None).await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        // Without a context nothing is filtered. The tools are sorted by name.
        assert_eq!(names[..4], ["t_add", "t_die", "t_echo", "t_environment"]);
        let echo = &tools[2];
        assert_eq!((echo.server_name(), echo.description()), ("echo", "Does echo."));
        assert_eq!((echo.annotations().read_only, echo.annotations().destructive), (Some(true), None));
        let declaration = echo.declaration().unwrap();
        assert_eq!(declaration.name.as_deref(), Some("t_echo"));
        let schema = json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "what to say", "maxLength": 9999}},
            "required": ["text"],
            "additionalProperties": false,
        });
        assert_eq!(declaration.parameters_json_schema, Some(schema));
    }
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let (toolsets, _running) = both(|builder| builder).await;
    for toolset in toolsets {
        let resources = toolset.list_resources(None).await.unwrap();
        assert_eq!((resources.len(), resources[0].uri.as_str(), resources[0].size), (1, "file:///readme", Some(5)));
        let templates = toolset.list_resource_templates(None).await.unwrap();
        assert_eq!(templates[0].uri_template, "file:///{path}");
        let contents = toolset.read_resource("file:///readme", None).await.unwrap();
        let parts: Vec<&Part> = contents.iter().map(|contents| &contents.part).collect();
        assert_eq!(parts, [&Part::text("hello"), &Part::bytes("image/png", &b"png"[..])]);
        assert_eq!(contents[1].mime_type.as_deref(), Some("image/png"));
        let error = toolset.read_resource("file:///none", None).await.unwrap_err();
        assert!(matches!(&error, McpError::Refused { message, .. } if message == "no file:///none"), "{error}");
    }
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    let (toolsets, _running) = both(|builder| builder).await;
    for toolset in toolsets {
        let prompts = toolset.list_prompts(None).await.unwrap();
        assert_eq!(prompts[0].name, "travel");
        assert!(prompts[0].arguments[0].is_required);
        let city = json!({"city": "Oslo"}).as_object().unwrap().clone();
        let messages = toolset.get_prompt("travel", city, None).await.unwrap();
        let said: Vec<_> = messages.iter().map(|content| (content.role().unwrap(), content.text())).collect();
        let expected = [("user", "Plan a trip to Oslo."), ("model", "How long?")];
        assert_eq!(said, expected.map(|(role, text)| (role, text.to_owned())));
        let error = toolset.get_prompt("travel", serde_json::Map::new(), None).await.unwrap_err();
        assert_eq!(
            error,
            McpError::Refused {
                server: pleach_context::Toolset::name(&toolset).to_owned(),
                code: -32602,
                message: "`city` is missing".to_owned(),
            }
        );
    }
}
