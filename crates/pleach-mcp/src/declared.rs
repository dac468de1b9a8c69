//! [`Declared`]: a tool with its declaration for models.

use std::collections::HashSet;
use std::sync::Arc;

use pleach_core::{FunctionDeclaration, Map};
use serde_json::Value;

use crate::members::{flag, needed_text, text};
use crate::{fence, names};

/// The tools of one listing of a server.
pub(crate) type Listed = Arc<[Arc<Declared>]>;

/// The effects of a tool as its server declares them. They are hints: an untrusted server may declare anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpToolAnnotations {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may change or remove existing data, and not only add to it.
    pub destructive: Option<bool>,
    /// Calling the tool again with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// The tool interacts with the outside world, for example with a web search.
    pub open_world: Option<bool>,
}

/// The readable part of a server's description of a tool.
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
    /// Reads a tool. Invalid members are left out. Only the name and the schema of the arguments must be valid.
    ///
    /// # Errors
    /// The reason why the tool cannot be called.
    pub(crate) fn read(tool: &Map) -> Result<Self, &'static str> {
        let input_schema = match tool.get("inputSchema") {
            Some(Value::Object(schema)) => schema.clone(),
            // Without a schema, nothing is known about the arguments. PHP writes an empty object as an empty list.
            None | Some(Value::Null | Value::Bool(true)) => Map::new(),
            Some(Value::Array(none)) if none.is_empty() => Map::new(),
            Some(_) => return Err("the schema of its arguments is no object"),
        };
        let no_hints = Map::new();
        let hints = tool.get("annotations").and_then(Value::as_object).unwrap_or(&no_hints);
        Ok(Self {
            name: needed_text(tool, "name", "its name is not a text")?,
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
    /// The declaration with the server's descriptions, under the name for models.
    pub(crate) declaration: Arc<FunctionDeclaration>,
    /// The declaration with marked descriptions, for requests.
    pub(crate) fenced: Arc<FunctionDeclaration>,
}

/// Returns the tools that models can call, and leaves out the others with a warning. The tools are sorted by name,
/// because servers list them in any order, and providers cache requests that begin like an earlier request.
pub(crate) fn declare(server: &str, prefix: Option<&str>, tools: Vec<ListedTool>) -> Listed {
    let mut taken = HashSet::new();
    let mut declared = Vec::with_capacity(tools.len());
    for tool in tools {
        let name = names::for_models(prefix, &tool.name).and_then(|name| {
            if taken.insert(name.clone()) {
                Ok(name)
            } else {
                Err("another tool of the server has the same name for models")
            }
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

/// Returns the beginning of a name. Names of servers can be of any length.
fn shown(name: &str) -> String {
    name.chars().take(100).collect()
}
