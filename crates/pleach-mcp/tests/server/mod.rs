//! An MCP server built with rmcp, which runs as a child process or over HTTP.

#![allow(dead_code, reason = "each test target uses a part of it")]

pub(crate) mod http;
pub(crate) mod scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pleach_mcp::McpCommand;
use rmcp::model::{
    AudioContent, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, EmbeddedResource, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ImageContent, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

/// The environment variable that turns a test program into the server.
const MODE: &str = "PLEACH_MCP_TEST_SERVER";
/// The variable with the file that the server writes to.
pub(crate) const LOG: &str = "PLEACH_MCP_TEST_LOG";

/// Returns the command that starts this test program as a server. The program must have a test of this name that calls
/// [`serve_if_asked`].
pub(crate) fn command(test: &str) -> McpCommand {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    McpCommand::new(program).args(["--exact", test, "--nocapture"]).env(MODE, "1")
}

/// Serves on standard input and output, if the program was started by [`command`].
pub(crate) fn serve_if_asked() {
    if std::env::var_os(MODE).is_none() {
        return;
    }
    eprintln!("the server is up");
    // The harness may have begun a line.
    std::io::Write::write_all(&mut std::io::stdout(), b"\n").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let running = Server::default().serve(rmcp::transport::stdio()).await.unwrap();
        let _ = running.waiting().await;
    });
    std::process::exit(0);
}

/// Adds a line to the server's file.
pub(crate) fn log(line: &str) {
    use std::io::Write as _;
    let Some(path) = std::env::var_os(LOG) else { return };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[derive(Clone, Default)]
pub(crate) struct Server {
    has_grown: Arc<AtomicBool>,
    /// Notified when a call begins to wait.
    pub(crate) waits: Arc<tokio::sync::Notify>,
}

/// The tools and their schemas.
fn tools() -> Vec<(&'static str, Value)> {
    let none = json!({"type": "object"});
    let text = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "what to say", "maxLength": 9999}},
        "required": ["text"],
        "additionalProperties": false,
    });
    let number = json!({"type": "object", "properties": {"count": {"type": "integer"}}});
    vec![
        ("echo", text.clone()),
        ("add", json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}})),
        ("picture", none.clone()),
        ("refuse", none.clone()),
        ("fail", none.clone()),
        ("wait", none.clone()),
        ("steps", number.clone()),
        ("die", none.clone()),
        ("grow", none.clone()),
        ("huge", number),
        ("environment", text.clone()),
        ("header", text),
        ("pid", none),
    ]
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        log("list");
        let mut listed: Vec<Tool> = tools()
            .into_iter()
            .map(|(name, schema)| Tool::new(name, format!("Does {name}."), object(schema)))
            .collect();
        listed[0] = listed[0].clone().with_annotations(ToolAnnotations::new().read_only(true));
        if self.has_grown.load(Ordering::Acquire) {
            listed.push(Tool::new("grown", "New.", object(json!({"type": "object"}))));
        }
        Ok(ListToolsResult { tools: listed, ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let text = args.get("text").and_then(Value::as_str).unwrap_or_default();
        let count = args.get("count").and_then(Value::as_u64).unwrap_or_default();
        let says = |text: String| Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into());
        match &*request.name {
            "echo" => says(text.to_owned()),
            "add" => {
                let number = |name: &str| args.get(name).and_then(Value::as_f64).unwrap_or_default();
                Ok(CallToolResult::structured(json!({"sum": number("a") + number("b")})).into())
            }
            "picture" => Ok(CallToolResult::success(vec![
                ContentBlock::text("a cat"),
                ContentBlock::Image(ImageContent::new("cG5n", "image/png")),
                ContentBlock::Audio(AudioContent::new("d2F2", "audio/wav")),
                ContentBlock::Image(ImageContent::new("no base64!", "image/gif")),
                ContentBlock::Resource(EmbeddedResource::new(
                    ResourceContents::blob("cGRm", "file:///a.pdf").with_mime_type("application/pdf"),
                )),
                ContentBlock::Resource(EmbeddedResource::new(ResourceContents::text("words", "file:///a.txt"))),
            ])
            .into()),
            "refuse" => Err(ErrorData::invalid_params("`count` is missing", None)),
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("out of paper")]).into()),
            "wait" => {
                log("waiting");
                self.waits.notify_one();
                context.ct.cancelled().await;
                log("cancelled");
                says("late".to_owned())
            }
            "steps" => {
                let token = context.meta.get_progress_token().unwrap();
                for step in 1..=count {
                    let report = ProgressNotificationParam::new(token.clone(), step as f64)
                        .with_total(count as f64)
                        .with_message(format!("step {step}"));
                    context.peer.notify_progress(report).await.unwrap();
                }
                says("done".to_owned())
            }
            "die" => std::process::exit(3),
            "grow" => {
                self.has_grown.store(true, Ordering::Release);
                context.peer.notify_tool_list_changed().await.unwrap();
                says("grown".to_owned())
            }
            "huge" => says("x".repeat(count as usize)),
            "environment" => says(std::env::var(text).unwrap_or_else(|_| "unset".to_owned())),
            "header" => {
                let parts = context.extensions.get::<hyper::http::request::Parts>();
                let value = parts.and_then(|parts| parts.headers.get(text)?.to_str().ok());
                says(value.unwrap_or("unset").to_owned())
            }
            "pid" => says(std::process::id().to_string()),
            name => Err(ErrorData::invalid_params(format!("no tool {name}"), None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let readme = Resource::new("file:///readme", "readme").with_mime_type("text/plain").with_size(5);
        Ok(ListResourcesResult { resources: vec![readme], ..ListResourcesResult::default() })
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("file:///{path}", "files");
        Ok(ListResourceTemplatesResult { resource_templates: vec![template], ..ListResourceTemplatesResult::default() })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match &*request.uri {
            "file:///readme" => {
                let contents = vec![
                    ResourceContents::text("hello", "file:///readme"),
                    ResourceContents::blob("cG5n", "file:///logo").with_mime_type("image/png"),
                ];
                Ok(ReadResourceResult::new(contents).into())
            }
            uri => Err(ErrorData::resource_not_found(format!("no {uri}"), None)),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let city = PromptArgument::new("city").with_description("which").with_required(true);
        let prompt = Prompt::new("travel", Some("Plans a trip."), Some(vec![city]));
        Ok(ListPromptsResult { prompts: vec![prompt], ..ListPromptsResult::default() })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let city = arguments.get("city").and_then(Value::as_str);
        let city = city.ok_or_else(|| ErrorData::invalid_params("`city` is missing", None))?;
        let messages = vec![
            PromptMessage::new_text(Role::User, format!("Plan a trip to {city}.")),
            PromptMessage::new_text(Role::Assistant, "How long?"),
        ];
        Ok(GetPromptResult::new(messages).into())
    }
}
