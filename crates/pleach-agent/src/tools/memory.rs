//! Tools that search the user's earlier sessions.

use std::sync::Arc;

use pleach_context::{NodeError, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, Content, FunctionDeclaration, Map, Part};
use pleach_model::LlmRequest;
use pleach_workflow::{Args, FunctionTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Query {
    query: String,
}

/// The instruction that tells a model about [`load_memory`].
const HAS_MEMORY: &str = "
You have memory. You can use it to answer questions. If any questions need
you to look up the memory, you should call load_memory function with a query.
";

/// Returns the tool that a model calls to search the user's earlier sessions. The app needs a memory service.
/// ADK: `load_memory_tool`
#[must_use]
pub fn load_memory() -> impl Tool {
    let handler = async |Args(Query { query }): Args<Query>, ctx: ToolContext| -> Result<Value, NodeError> {
        Ok(json!({"result": {"memories": ctx.search_memory(query).await?}}))
    };
    LoadMemory(tool("load_memory", "Loads the memory for the current user.", handler))
}

/// A search tool that adds an instruction about the memory to requests.
struct LoadMemory(FunctionTool);

impl Tool for LoadMemory {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn description(&self) -> &str {
        self.0.description()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        self.0.declaration()
    }

    fn process_request<'a>(
        &'a self,
        ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(async move {
            self.0.process_request(ctx, request).await?;
            request.append_instructions([HAS_MEMORY]);
            Ok(())
        })
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        self.0.run(args, ctx)
    }
}

/// Returns the tool that searches earlier sessions with the user's message before each request, and shows the results
/// to the model. The model does not call it. If a search fails, the request has no results, and a warning is logged.
/// ADK: `preload_memory_tool`
#[must_use]
#[doc(alias = "preload_memory_tool")]
pub fn preload_memory() -> impl Tool {
    PreloadMemory
}

struct PreloadMemory;

impl PreloadMemory {
    /// Searches with the user's message, and returns the results as lines.
    async fn found(ctx: &ToolContext) -> Vec<String> {
        let query = ctx.user_content().map(|content| texts(content, |part| !part.is_thought())).unwrap_or_default();
        if query.is_empty() {
            return Vec::new();
        }
        let found = ctx.search_memory(query).await.unwrap_or_else(|error| {
            tracing::warn!(agent = ctx.agent_name(), %error, "the memory cannot be searched: the request has no results of it");
            Vec::new()
        });
        let entries = found.iter();
        entries.flat_map(|entry| lines(&entry.content, entry.author.as_deref(), entry.timestamp.as_deref())).collect()
    }
}

impl Tool for PreloadMemory {
    fn name(&self) -> &str {
        "preload_memory"
    }

    fn process_request<'a>(
        &'a self,
        ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(async move {
            let lines = Self::found(ctx).await;
            if !lines.is_empty() {
                request.insert_instruction_contents(vec![shown(&lines.join("\n")).into()]);
            }
            Ok(())
        })
    }

    fn run<'a>(&'a self, _: &'a Map, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(std::future::ready(Ok(ToolResult::default())))
    }
}

/// Returns the lines that show an entry: its time, its author and its text.
fn lines(content: &Content, author: Option<&str>, time: Option<&str>) -> impl Iterator<Item = String> {
    let text = Some(texts(content, |_| true)).filter(|text| !text.is_empty());
    let said = text.map(|text| match author {
        Some(author) => format!("{author}: {text}"),
        None => text,
    });
    time.map(|time| format!("Time: {time}")).into_iter().chain(said)
}

/// Returns the texts of a content, with spaces between them.
fn texts(content: &Content, counts: impl Fn(&Part) -> bool) -> String {
    let parts = content.parts().iter().filter(|part| counts(part));
    parts.filter_map(|part| part.text.as_deref()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

fn shown(memory: &str) -> Content {
    Content::user(format!(
        "The following content is from your previous conversations with the user.\n\
         They may be useful for answering the user's current query.\n\
         <PAST_CONVERSATIONS>\n{memory}\n</PAST_CONVERSATIONS>\n"
    ))
}
