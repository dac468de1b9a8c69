//! [`Declared`]: a tool as its server describes it, and as models see it.

use std::collections::HashSet;
use std::sync::Arc;

use pleach_core::{FunctionDeclaration, Map};
use serde_json::Value;

use crate::members::{flag, needed_text, text};
use crate::{fence, names};

/// The tools of a server, as they were listed.
pub(crate) type Listed = Arc<[Arc<Declared>]>;

/// The effects of a tool as its server declares them. They are hints: a server that is not trusted may say anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpToolAnnotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something, not only add.
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// It deals with the world outside, as a web search does.
    pub open_world: Option<bool>,
}

/// A tool, as far as its server describes it in a way that can be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedTool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) annotations: McpToolAnnotations,
    pub(crate) input_schema: Map,
    pub(crate) output_schema: Option<Map>,
}

impl ListedTool {
    /// Reads a tool. Members that are odd are left out; only the name and the schema of the arguments must be right.
    ///
    /// # Errors
    /// Why it cannot be called.
    pub(crate) fn read(tool: &Map) -> Result<Self, &'static str> {
        let input_schema = match tool.get("inputSchema") {
            Some(Value::Object(schema)) => schema.clone(),
            // It takes no arguments, or any. PHP writes an empty object as an empty list.
            None | Some(Value::Null | Value::Bool(true)) => Map::new(),
            Some(Value::Array(none)) if none.is_empty() => Map::new(),
            Some(_) => return Err("the schema of its arguments is no object"),
        };
        let no_hints = Map::new();
        let hints = tool.get("annotations").and_then(Value::as_object).unwrap_or(&no_hints);
        Ok(Self {
            name: needed_text(tool, "name", "its name is no text")?,
            title: text(tool, "title").or_else(|| text(hints, "title")),
            description: text(tool, "description"),
            annotations: McpToolAnnotations {
                read_only: flag(hints, "readOnlyHint"),
                destructive: flag(hints, "destructiveHint"),
                idempotent: flag(hints, "idempotentHint"),
                open_world: flag(hints, "openWorldHint"),
            },
            input_schema,
            output_schema: tool.get("outputSchema").and_then(Value::as_object).cloned(),
        })
    }
}

/// A tool of a server.
pub(crate) struct Declared {
    pub(crate) tool: ListedTool,
    /// As the server describes it, under the name for models.
    pub(crate) declaration: Arc<FunctionDeclaration>,
    /// With marked descriptions, for requests.
    pub(crate) fenced: Arc<FunctionDeclaration>,
}

/// Returns the tools that models can call, in the order of their names: the order in which a server lists them is not fixed, and a request
/// that begins as the last one did is cheaper. Others are left out with a warning.
pub(crate) fn declare(server: &str, prefix: Option<&str>, tools: Vec<ListedTool>) -> Listed {
    let mut taken = HashSet::new();
    let mut declared = Vec::with_capacity(tools.len());
    for tool in tools {
        let name = names::for_models(prefix, &tool.name).and_then(|name| match taken.insert(name.clone()) {
            true => Ok(name),
            false => Err("another tool of the server has the same name for models"),
        });
        match name {
            Ok(name) => declared.push(Declared::new(name, tool)),
            Err(reason) => {
                tracing::warn!(server, tool = shown(&tool.name), reason, "a tool of the MCP server is left out")
            }
        }
    }
    declared.sort_by(|one, other| one.name().cmp(other.name()));
    declared.into_iter().map(Arc::new).collect()
}

impl Declared {
    fn new(name: String, tool: ListedTool) -> Self {
        let mut declaration = FunctionDeclaration::new(name, tool.description.as_deref().unwrap_or_default());
        if !tool.input_schema.is_empty() {
            declaration = declaration.with_parameters(Value::Object(tool.input_schema.clone()));
        }
        let fenced = Arc::new(fence::fenced(&declaration));
        Self { tool, declaration: Arc::new(declaration), fenced }
    }

    /// Returns the name for models.
    pub(crate) fn name(&self) -> &str {
        self.declaration.name.as_deref().unwrap_or_default()
    }
}

/// The beginning of a name: a server may give any.
fn shown(name: &str) -> String {
    name.chars().take(100).collect()
}
