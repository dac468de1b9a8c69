//! Checks and converts a node's input before its run starts.
// R305

use pleach_context::{NodeError, NodeInput, NodeKind, NodeSpec, Schema};
use serde_json::Value;

/// Checks the input of the node that runs as `name` against the node's schema, and converts it.
///
/// # Errors
/// A `ValidationError`. It is the error of the caller, not of the node.
pub(crate) fn conform(spec: &NodeSpec, name: &str, input: NodeInput) -> Result<NodeInput, NodeError> {
    let Some(schema) = &spec.input_schema else { return Ok(input) };
    let fitting = if spec.kind == NodeKind::Join { each(schema, input) } else { input.conform(schema) };
    fitting.map_err(|error| NodeError::validation(format!("dynamic node '{name}': {}", error.message())))
}

/// Applies the schema of a join to every joined value.
// R628
fn each(schema: &Schema, input: NodeInput) -> Result<NodeInput, NodeError> {
    if !input.value().is_some_and(Value::is_object) {
        return input.conform(schema);
    }
    let Value::Object(mut values) = input.into_value() else { return Ok(NodeInput::Null) };
    for value in values.values_mut() {
        *value = schema.apply(value)?;
    }
    Ok(NodeInput::json(Value::Object(values)))
}
