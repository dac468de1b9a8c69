//! [`fit`]: fits the functions and calls of a request to the provider, and converts its answers back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use pleach_core::{FunctionDeclaration, Part};
use pleach_model::{LlmRequest, LlmResponse, RequestTool, ToolConfig};
use serde_json::Value;

use super::keywords::rewrite_all;
use super::{Dialect, Keys, SchemaFault, Standard, answer, root};

/// The maximum number of remembered warnings.
const MOST_WARNINGS: usize = 1_024;
/// The maximum number of characters of a name that are shown.
const SHOWN: usize = 100;

/// A request that is fitted to the provider.
pub(crate) struct Fitted<'a> {
    pub(crate) request: Cow<'a, LlmRequest>,
    /// The renamed properties, by function.
    keys: BTreeMap<String, Keys>,
    /// Whether the answer is wrapped in an object.
    is_wrapped: bool,
}

/// The warnings about a model's tools that have been logged, so that a warning is not repeated with every request.
#[derive(Debug, Default)]
pub(crate) struct Warned(Mutex<BTreeSet<(String, String)>>);

impl Warned {
    fn warn(&self, model: &str, tool: &str, what: &str, reason: &str) {
        let mut warned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() >= MOST_WARNINGS {
            warned.clear();
        }
        if warned.insert((model.to_owned(), tool.to_owned())) {
            let tool: String = tool.chars().take(SHOWN).collect();
            tracing::warn!(model, tool, reason, "{what}");
        }
    }
}

/// Fits the functions of a request to the provider. A function that cannot be declared is left out, with a warning that
/// names it, so that the other functions still work.
pub(crate) fn fit<'a>(model: &str, request: &'a LlmRequest, dialect: &Dialect, warned: &Warned) -> Fitted<'a> {
    let config = &request.config;
    let answer = config.response_schema.as_ref().or(config.response_json_schema.as_ref());
    let is_wrapped = dialect.wraps_answers && answer.is_some_and(|schema| !answer::is_object(schema));
    let mut fitted = Fitted { request: Cow::Borrowed(request), keys: BTreeMap::new(), is_wrapped };
    let mut left_out = Vec::new();
    for (place, tool) in request.config.tools.iter().flatten().enumerate() {
        let RequestTool::Functions(functions) = tool else { continue };
        let mut taken = Vec::with_capacity(functions.len());
        for function in functions {
            let name = function.name.as_deref().unwrap_or_default();
            match declaration(function, dialect) {
                Ok((declared, keys, losses)) => {
                    if !losses.is_empty() {
                        warned.warn(
                            model,
                            name,
                            "a part of a tool's schema is not sent to the model",
                            &losses.join(", "),
                        );
                    }
                    fitted.keys.extend(keys.map(|keys| (name.to_owned(), keys)));
                    taken.push(declared);
                }
                Err(fault) => {
                    left_out.push(name);
                    warned.warn(model, name, "a tool is left out of the requests to the model", &fault.to_string());
                }
            }
        }
        let is_same =
            taken.len() == functions.len() && taken.iter().zip(functions).all(|(one, other)| Arc::ptr_eq(one, other));
        if !is_same && let Some(tools) = &mut fitted.request.to_mut().config.tools {
            tools[place] = RequestTool::Functions(taken);
        }
    }
    fitted.drop_left_out(&left_out);
    fitted.rename_in_history();
    fitted
}

type Declared = (Arc<FunctionDeclaration>, Option<Keys>, Vec<String>);

/// Returns the declaration with a schema that the provider accepts. If nothing changes, the result is the same
/// declaration.
fn declaration(function: &Arc<FunctionDeclaration>, dialect: &Dialect) -> Result<Declared, SchemaFault> {
    // Gemini's own field `parameters` may hold the schema instead.
    let given = function.parameters_json_schema.as_ref().or_else(|| function.extra.as_ref()?.get("parameters"));
    let Some(given) = given else { return Ok((Arc::clone(function), None, Vec::new())) };
    let (schema, keys, losses) = parameters(given, dialect)?;
    if function.parameters_json_schema.as_ref() == Some(&schema) {
        return Ok((Arc::clone(function), keys, losses));
    }
    let mut function = FunctionDeclaration::clone(function);
    if let Some(extra) = &mut function.extra {
        extra.remove("parameters");
    }
    function.parameters_json_schema = Some(schema);
    Ok((Arc::new(function), keys, losses))
}

/// Returns the schema of a function's arguments in the form that the provider accepts.
pub(super) fn parameters(given: &Value, dialect: &Dialect) -> Result<(Value, Option<Keys>, Vec<String>), SchemaFault> {
    let mut standard = Standard::of(given)?;
    root::as_object(&mut standard)?;
    let losses = std::mem::take(&mut standard.losses);
    let (schema, keys) = for_provider(standard, dialect);
    Ok((schema, keys, losses))
}

/// Returns the output schema in the form that the provider accepts. A schema that is too large is sent unchanged, and
/// the provider reports the fault.
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub(crate) fn fit_answer(schema: &Value, dialect: &Dialect) -> (Value, Option<Keys>) {
    match Standard::of(schema) {
        Ok(standard) => for_provider(standard, dialect),
        Err(_) => (schema.clone(), None),
    }
}

fn for_provider(standard: Standard, dialect: &Dialect) -> (Value, Option<Keys>) {
    let mut schema = standard.into_value();
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.values_mut().for_each(|definition| rewrite_all(definition, dialect.rewrite));
    }
    rewrite_all(&mut schema, dialect.rewrite);
    let keys = Keys::rename(&mut schema, dialect.takes_key);
    (schema, keys)
}

impl Fitted<'_> {
    /// Removes references to functions that were left out, because providers refuse them: empty lists of functions, and
    /// names in the list of allowed functions.
    fn drop_left_out(&mut self, left_out: &[&str]) {
        if left_out.is_empty() {
            return;
        }
        let config = &mut self.request.to_mut().config;
        let is_empty = |tool: &RequestTool| matches!(tool, RequestTool::Functions(functions) if functions.is_empty());
        config.tools.iter_mut().for_each(|tools| tools.retain(|tool| !is_empty(tool)));
        config.tools.take_if(|tools| tools.is_empty());
        let has_functions = config.tools.iter().flatten().any(|tool| matches!(tool, RequestTool::Functions(_)));
        let calling = config.tool_config.as_mut().map(|tool_config| &mut tool_config.function_calling_config);
        let Some(calling) = calling else { return };
        if let Some(names) = calling.as_mut().and_then(|calling| calling.allowed_function_names.as_mut()) {
            names.retain(|name| !left_out.contains(&name.as_str()));
        }
        // Without functions, no call can be required.
        calling.take_if(|calling| !has_functions || calling.allowed_function_names.as_ref().is_some_and(Vec::is_empty));
        config.tool_config.take_if(|tool_config| **tool_config == ToolConfig::default());
    }

    /// Renames properties in the calls of the conversation to the provider's names.
    fn rename_in_history(&mut self) {
        if self.keys.is_empty() {
            return;
        }
        let is_renamed = |part: &Part| {
            part.function_call
                .as_ref()
                .and_then(|call| call.name.as_deref())
                .is_some_and(|name| self.keys.contains_key(name))
        };
        let contents = self.request.contents.iter().enumerate();
        let places: Vec<usize> =
            contents.filter(|(_, content)| content.parts().iter().any(is_renamed)).map(|(place, _)| place).collect();
        for place in places {
            for part in self.request.to_mut().contents[place].to_mut().parts_mut() {
                if let Some(call) = &mut part.function_call
                    && let Some(keys) = call.name.as_deref().and_then(|name| self.keys.get(name))
                {
                    call.args.iter_mut().for_each(|arguments| keys.send(arguments));
                }
            }
        }
    }

    /// Undoes the changes in a response or fragment: restores the names of arguments, and takes an answer out of the
    /// object that wraps it. Returns `None` if nothing of a fragment is left.
    pub(crate) fn restore(&self, response: LlmResponse) -> Option<LlmResponse> {
        let response = if self.keys.is_empty() { response } else { self.restore_calls(response) };
        if self.is_wrapped { answer::unwrap(response) } else { Some(response) }
    }

    fn restore_calls(&self, mut response: LlmResponse) -> LlmResponse {
        let parts = response.content.as_mut().and_then(|content| content.parts.as_mut());
        for call in parts.into_iter().flatten().filter_map(|part| part.function_call.as_mut()) {
            let Some(keys) = call.name.as_deref().and_then(|name| self.keys.get(name)) else { continue };
            call.args.iter_mut().for_each(|arguments| keys.restore(arguments));
            if let Some(pieces) = &mut call.partial_args {
                let mut restored = pieces.as_value().clone();
                for piece in restored.as_array_mut().into_iter().flatten() {
                    if let Some(Value::String(path)) = piece.get_mut("json_path") {
                        *path = keys.restore_path(path);
                    }
                }
                **pieces = pleach_core::Owned::new(restored);
            }
        }
        response
    }
}
