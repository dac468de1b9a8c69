//! [`OutputTool`]: a tool that the model calls with an answer that fits the output schema.

use pleach_core::{Content, Part};
use pleach_model::{LlmRequest, LlmResponse};
use serde_json::{Value, json};

use super::schema::DIALECT;
use crate::schema::{Keys, fit_answer};

/// The name of the tool.
pub(super) const NAME: &str = "structured_output";
const VALUE: &str = "response";

/// The tool that is added to a request with an output schema. If the request has other tools, a call of this tool ends
/// the answer.
pub(super) struct OutputTool {
    input: Value,
    /// Whether the answer is wrapped in a member of the input, because the input has to be an object.
    is_nested: bool,
    /// The fields that are renamed for the provider.
    keys: Option<Keys>,
}

impl OutputTool {
    pub(super) fn of(request: &LlmRequest) -> Option<Self> {
        let config = &request.config;
        let schema = config.response_schema.as_ref().or(config.response_json_schema.as_ref())?;
        let (mut input, keys) = fit_answer(schema, &DIALECT);
        let has_branches = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| input.get(*keyword).is_some());
        let is_nested = has_branches || input.get("type").and_then(Value::as_str) != Some("object");
        if is_nested {
            let definitions = input.as_object_mut().and_then(|schema| schema.remove("$defs"));
            input = json!({"type": "object", "properties": {VALUE: input}, "required": [VALUE]});
            if let Some(definitions) = definitions {
                input["$defs"] = definitions;
            }
        }
        Some(Self { input, is_nested, keys })
    }

    pub(super) fn declaration(&self) -> Value {
        json!({
            "name": NAME,
            "description": "Call this once, with the whole answer.",
            "input_schema": self.input,
        })
    }

    /// Returns how the call is forced: this tool if it is the only one, otherwise any tool. While the model thinks, no
    /// call can be forced.
    pub(super) fn choice(thinks: bool, is_alone: bool) -> Value {
        match (thinks, is_alone) {
            (true, _) => json!({"type": "auto", "disable_parallel_tool_use": true}),
            (false, true) => json!({"type": "tool", "name": NAME, "disable_parallel_tool_use": true}),
            (false, false) => json!({"type": "any", "disable_parallel_tool_use": true}),
        }
    }

    /// Returns true if pieces of the input can be streamed as pieces of the answer.
    pub(super) fn streams(&self) -> bool {
        !self.is_nested && self.keys.is_none()
    }

    /// Replaces the call by the answer, and keeps thoughts.
    pub(super) fn unwrap(&self, response: &mut LlmResponse) {
        let Some(content) = &mut response.content else { return };
        let call = content.function_calls().find(|call| call.name.as_deref() == Some(NAME));
        let Some(mut input) = call.map(|call| call.args.clone().unwrap_or_default()) else { return };
        if let Some(keys) = &self.keys {
            keys.restore(&mut input);
        }
        let answer = if self.is_nested { input.remove(VALUE).unwrap_or_default() } else { Value::Object(input) };
        let mut parts: Vec<Part> = content.parts().iter().filter(|part| part.is_thought()).cloned().collect();
        parts.push(Part::text(answer.to_string()));
        *content = Content::new("model", parts);
    }
}
