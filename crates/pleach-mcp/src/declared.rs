//! [`Declared`]: a tool as its server describes it, and as models see it.

use std::collections::HashSet;
use std::sync::Arc;

use pleach_core::FunctionDeclaration;
use rmcp::model::Tool;
use serde_json::Value;

use crate::{fence, names};

/// The tools of a server, as they were listed.
pub(crate) type Listed = Arc<[Arc<Declared>]>;

/// A tool of a server.
pub(crate) struct Declared {
    pub(crate) tool: Tool,
    /// As the server describes it, under the name for models.
    pub(crate) declaration: Arc<FunctionDeclaration>,
    /// With marked descriptions, for requests.
    pub(crate) fenced: Arc<FunctionDeclaration>,
}

/// Returns the tools that models can call, in the order of their names: the order in which a server lists them is not fixed, and a request
/// that begins as the last one did is cheaper. Others are left out with a warning.
pub(crate) fn declare(server: &str, prefix: Option<&str>, tools: Vec<Tool>) -> Listed {
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
    fn new(name: String, tool: Tool) -> Self {
        let mut declaration = FunctionDeclaration::new(name, tool.description.as_deref().unwrap_or_default());
        if !tool.input_schema.is_empty() {
            declaration = declaration.with_parameters(Value::Object(tool.input_schema.as_ref().clone()));
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
