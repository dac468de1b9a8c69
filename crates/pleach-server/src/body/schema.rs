//! Turns the shapes of bodies, messages and events into JSON Schemas, for the description of the API.

use std::ptr;

use pleach_core::Map;
use serde_json::{Value, json};

use super::shape::{Kind, Need, Shape};
use super::tables::{
    ACTIONS, ARTIFACT, BLOB, CALL, CODE, CODE_RESULT, CONTENT, CREATE, EVENT, FILE, MEMORY, NODE, PART, PARTIAL_ARG,
    RESPONSE, RESPONSE_PART, RUN, TOOL_CALL, TOOL_RESPONSE, UPDATE, VIDEO,
};

/// The shapes by the names that they have in google-adk.
static NAMED: &[(&str, &Shape)] = &[
    ("RunAgentRequest", &RUN),
    ("CreateSessionRequest", &CREATE),
    ("UpdateSessionRequest", &UPDATE),
    ("UpdateMemoryRequest", &MEMORY),
    ("SaveArtifactRequest", &ARTIFACT),
    ("Content", &CONTENT),
    ("Part", &PART),
    ("CodeExecutionResult", &CODE_RESULT),
    ("ExecutableCode", &CODE),
    ("FileData", &FILE),
    ("Blob", &BLOB),
    ("FunctionCall", &CALL),
    ("PartialArg", &PARTIAL_ARG),
    ("FunctionResponse", &RESPONSE),
    ("FunctionResponsePart", &RESPONSE_PART),
    ("VideoMetadata", &VIDEO),
    ("ToolCall", &TOOL_CALL),
    ("ToolResponse", &TOOL_RESPONSE),
    ("Event", &EVENT),
    ("NodeInfo", &NODE),
    ("EventActions", &ACTIONS),
];

/// Returns the reference to a named schema of the document.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Returns the schemas of all shapes, by name.
pub(crate) fn schemas() -> Map {
    NAMED.iter().map(|(name, shape)| ((*name).to_owned(), of_shape(shape))).collect()
}

fn of_shape(shape: &Shape) -> Value {
    let properties: Map = shape
        .fields
        .iter()
        .map(|field| {
            let schema = of_kind(field.kind);
            // A value of any kind may already be null.
            let takes_null = field.need == Need::Optional && !matches!(field.kind, Kind::Any);
            let schema = if takes_null { json!({ "anyOf": [schema, { "type": "null" }] }) } else { schema };
            (field.name.to_owned(), schema)
        })
        .collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    let required: Vec<&str> =
        shape.fields.iter().filter(|field| field.need == Need::Required).map(|field| field.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if shape.is_closed {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Any => json!({}),
        Kind::Text => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Number => json!({ "type": "number" }),
        Kind::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Kind::Object => json!({ "type": "object" }),
        Kind::List(item) => json!({ "type": "array", "items": of_kind(*item) }),
        Kind::Set(item) => json!({ "type": "array", "uniqueItems": true, "items": of_kind(*item) }),
        Kind::Model(shape) => NAMED
            .iter()
            .find(|(_, named)| ptr::eq(*named, shape))
            .map_or_else(|| of_shape(shape), |(name, _)| reference(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_an_object_with_its_members() {
        let schemas = schemas();
        assert_eq!(
            schemas["UpdateMemoryRequest"],
            json!({"type": "object", "properties": {"sessionId": {"type": "string"}}, "required": ["sessionId"]})
        );
        let parts = json!({"type": "array", "items": {"$ref": "#/components/schemas/Part"}});
        assert_eq!(schemas["Content"]["properties"]["parts"], json!({"anyOf": [parts, {"type": "null"}]}));
        assert_eq!(schemas["Content"]["additionalProperties"], json!(false));
        assert_eq!(schemas["Event"].get("additionalProperties"), None);
    }
}
