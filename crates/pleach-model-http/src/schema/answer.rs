//! Wraps answers that are not objects, for providers that demand objects.

use pleach_core::{Content, Part};
use pleach_model::LlmResponse;
use serde_json::Value;

/// The field that holds an answer that is not an object.
pub(crate) const VALUE: &str = "response";

/// Returns true if an output schema describes one object, without alternatives.
pub(crate) fn is_object(schema: &Value) -> bool {
    let is_named = match schema.get("type") {
        Some(kind) => kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("object")),
        None => schema.get("properties").is_some_and(Value::is_object),
    };
    let has_branches = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.get(*keyword).is_some());
    is_named && !has_branches
}

/// Takes the answer out of its object. A streamed piece of the object's text is removed, because it is not a piece of
/// the answer; returns `None` if nothing else is left. A text that is not such an object is kept, because some servers
/// ignore the schema.
pub(super) fn unwrap(mut response: LlmResponse) -> Option<LlmResponse> {
    let Some(content) = &mut response.content else { return Some(response) };
    let is_answer = |part: &Part| part.text.is_some() && !part.is_thought();
    if !content.parts().iter().any(is_answer) {
        return Some(response);
    }
    if response.partial == Some(true) {
        content.parts_mut().retain(|part| !is_answer(part));
        return (!content.parts().is_empty()).then_some(response);
    }
    let text: String =
        content.parts().iter().filter(|part| is_answer(part)).filter_map(|part| part.text.as_deref()).collect();
    if let Some(answer) = value_of(&text) {
        let mut parts: Vec<Part> = content.parts().iter().filter(|part| !is_answer(part)).cloned().collect();
        parts.push(Part::text(answer.to_string()));
        *content = Content::new("model", parts);
    }
    Some(response)
}

fn value_of(text: &str) -> Option<Value> {
    let Value::Object(mut members) = serde_json::from_str(text.trim()).ok()? else { return None };
    let is_wrapped = members.len() == 1;
    members.remove(VALUE).filter(|_| is_wrapped)
}
