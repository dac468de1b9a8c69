//! Answers to questions: unwrapping what a client sends, and checking it against the question's schema.

use pleach_core::Map;
use serde_json::Value;

use super::FieldType;

/// The answer in a function response (R906).
///
/// An object with the single key `result` stands for its value, and a text there is read as JSON where it is JSON
/// (`"42"` is 42); every other object is taken whole.
#[must_use]
pub fn unwrap_response(response: &Map) -> Value {
    match response.get("result") {
        Some(Value::String(text)) if response.len() == 1 => crate::lax::json_or_text(text),
        Some(value) if response.len() == 1 => value.clone(),
        _ => Value::Object(response.clone()),
    }
}

/// Checks an unwrapped answer against the `response_schema` of its question and converts it (R907).
///
/// Only top-level types, properties and `required` are looked at: unknown keys are dropped, absent optional ones are
/// null, items of arrays are not checked. A schema without a known `type` accepts everything.
///
/// # Errors
/// A text that says what does not fit.
pub fn check_answer(schema: &Value, answer: Value) -> Result<Value, String> {
    let kind = schema.get("type").and_then(Value::as_str);
    if let (Some("object"), Some(properties)) = (kind, schema.get("properties").and_then(Value::as_object)) {
        let required = schema.get("required").and_then(Value::as_array);
        return check_object(properties, required.map_or(&[], Vec::as_slice), &answer);
    }
    match FieldType::of_json_type(kind) {
        FieldType::Any => Ok(answer),
        known => known.coerce(&answer),
    }
}

fn check_object(properties: &Map, required: &[Value], answer: &Value) -> Result<Value, String> {
    let Value::Object(given) = answer else {
        return Err(format!("an object is wanted, {} is given", super::field::kind_of(answer)));
    };
    let mut checked = Map::new();
    for (name, property) in properties {
        let is_required = required.iter().any(|listed| listed.as_str() == Some(name));
        let value = match given.get(name) {
            None if is_required => return Err(format!("field '{name}' is required")),
            None | Some(Value::Null) if !is_required => Value::Null,
            None => Value::Null,
            Some(value) => {
                let kind = FieldType::of_json_type(property.get("type").and_then(Value::as_str));
                kind.coerce(value).map_err(|reason| format!("field '{name}': {reason}"))?
            }
        };
        checked.insert(name.clone(), value);
    }
    Ok(Value::Object(checked))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unwrapped(response: Value) -> Value {
        unwrap_response(response.as_object().unwrap())
    }

    #[test]
    fn e153_a_lone_result_is_unwrapped_and_parsed() {
        assert_eq!(unwrapped(json!({"result": "{\"a\":1}"})), json!({"a": 1}));
        assert_eq!(unwrapped(json!({"result": "42"})), json!(42));
        assert_eq!(unwrapped(json!({"result": "yes"})), json!("yes"));
        assert_eq!(unwrapped(json!({"result": null})), json!(null));
        assert_eq!(unwrapped(json!({})), json!({}));
        assert_eq!(unwrapped(json!({"result": "x", "o": 1})), json!({"result": "x", "o": 1}));
    }

    #[test]
    fn e164_e167_answers_are_checked_leniently() {
        let check = |schema: Value, answer: Value| check_answer(&schema, answer).ok();
        assert_eq!(check(json!({"type": "integer"}), json!("7")), Some(json!(7)));
        assert_eq!(check(json!({"type": "integer"}), json!("abc")), None);
        assert_eq!(check(json!({"type": "string"}), json!(5)), None);
        assert_eq!(
            check(json!({"type": "array", "items": {"type": "integer"}}), json!([1, "2"])),
            Some(json!([1, "2"]))
        );
        let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        assert_eq!(check(object.clone(), json!({"n": "3", "extra": 1})), Some(json!({"n": 3})));
        assert_eq!(check(object, json!({})), None);
        let optional = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        assert_eq!(check(optional, json!({})), Some(json!({"n": null})));
        assert_eq!(check(json!({"anyOf": []}), json!("kept")), Some(json!("kept")));
    }
}
