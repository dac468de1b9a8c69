//! The functions that a request declares, for formats other than Gemini's.

use pleach_core::FunctionDeclaration;
use pleach_model::{LlmRequest, ModelError, RequestTool};
use serde_json::{Value, json};

use crate::wire::unsupported;

/// Returns the declared functions that may be called. If `required` has names, only those are returned.
///
/// # Errors
/// The request has a tool of another provider.
pub(crate) fn callable<'a>(
    model: &str,
    request: &'a LlmRequest,
    required: Option<&'a [String]>,
) -> Result<impl Iterator<Item = &'a FunctionDeclaration>, ModelError> {
    for tool in request.config.tools.iter().flatten() {
        if let RequestTool::Provider(tool) = tool {
            let name = tool.as_value().as_object().and_then(|tool| tool.keys().next().cloned()).unwrap_or_default();
            return Err(unsupported(model, format!("the tool `{name}` is not one of this provider")));
        }
    }
    let is_callable = move |name: &str| {
        required.is_none_or(|names| names.is_empty() || names.iter().any(|required| required == name))
    };
    let declared = request.declarations();
    Ok(declared.filter(move |declared| is_callable(declared.name.as_deref().unwrap_or_default())))
}

/// Returns the schema of the arguments of a function. It has been fitted to the provider before.
pub(crate) fn parameters(declared: &FunctionDeclaration) -> Value {
    declared.parameters_json_schema.clone().unwrap_or_else(|| json!({"type": "object", "properties": {}}))
}
