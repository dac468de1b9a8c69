//! Makes the arguments of a tool call from the input of a node.
// R851

use pleach_context::{Context, NodeError, NodeInput};
use pleach_core::{FunctionDeclaration, Map, json_of_foreign_text};
use serde_json::Value;

/// Makes arguments from a node's input: an object is used as it is, no input means no arguments, and any other value
/// becomes the single parameter. Missing required parameters are read from the state.
///
/// # Errors
/// A `TypeError` if the input is not an object and the tool has no single parameter for it.
pub(super) fn arguments(
    declared: Option<&FunctionDeclaration>,
    ctx: &Context,
    input: NodeInput,
) -> Result<Map, NodeError> {
    let mut args = match read(input) {
        Value::Null => Map::new(),
        Value::Object(args) => args,
        other => match declared.and_then(only_parameter) {
            Some(name) => Map::from_iter([(name.to_owned(), other)]),
            None => return Err(no_arguments(&other)),
        },
    };
    for name in declared.into_iter().flat_map(FunctionDeclaration::required) {
        if !args.contains_key(name)
            && let Some(value) = ctx.state().value(name)
        {
            args.insert(name.to_owned(), value);
        }
    }
    Ok(args)
}

/// Returns the input as JSON: a text that contains a JSON object becomes that object, and a blank text becomes null.
fn read(input: NodeInput) -> Value {
    let text = match input.content() {
        Some(content) => content.text(),
        None => match input.into_value() {
            Value::String(text) => text,
            other => return other,
        },
    };
    match text.trim() {
        "" => Value::Null,
        text => json_of_foreign_text(text.as_bytes()).filter(Value::is_object).unwrap_or_else(|| text.into()),
    }
}

/// Returns the parameter for a value without a name: the only one, or otherwise the only required one.
fn only_parameter(declared: &FunctionDeclaration) -> Option<&str> {
    fn only<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        names.next().filter(|_| names.next().is_none())
    }
    only(declared.parameters()).or_else(|| only(declared.required()))
}

fn no_arguments(given: &Value) -> NodeError {
    let kind = match given {
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::Array(_) => "list",
        Value::Null | Value::String(_) | Value::Object(_) => "str",
    };
    let message =
        format!("The input to ToolNode must be a dictionary of tool arguments or None, but got <class '{kind}'>.");
    NodeError::new("TypeError", message).with_hint("pass an object with the tool's arguments to the node")
}
