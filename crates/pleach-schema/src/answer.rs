//! Reading stored answers: unwrapping, and conversion according to the question's schema.

use serde_json::{Map, Value};

use crate::{FieldType, json_or_text, kind_of};

/// Returns the answer in a function response.
///
/// If the only key of the object is `result`, the answer is the value of that key. If that value is a string with
/// valid JSON, it is read as JSON (`"42"` becomes 42). Any other object is the answer itself.
#[must_use]
pub fn unwrap_response(response: &Map<String, Value>) -> Value {
    match response.get("result") {
        Some(Value::String(text)) if response.len() == 1 => json_or_text(text),
        Some(value) if response.len() == 1 => value.clone(),
        _ => Value::Object(response.clone()),
    }
}

/// Checks an unwrapped answer against the `response_schema` of its question and converts it, as google-adk does.
///
/// This is the check of answers that are already stored. It covers only the top level: the `type`, the properties
/// and `required`. A schema without a known `type` accepts everything, and items of arrays are not checked. Unknown
/// keys are dropped, unless other keywords of the schema describe them. Absent optional properties become null, with
/// two exceptions: properties with a `default`, and schemas that name their dialect with `$schema`, like the schemas
/// of Rust types with optional fields.
///
/// # Errors
/// Names the field and the expected type.
// R907
pub fn check_answer(schema: &Value, answer: Value) -> Result<Value, String> {
    let kind = schema.get("type").and_then(Value::as_str);
    if let (Some("object"), Some(properties)) = (kind, schema.get("properties").and_then(Value::as_object)) {
        return check_object(schema, properties, answer);
    }
    match FieldType::of_json_type(kind) {
        FieldType::Any => Ok(answer),
        known => known.coerce(&answer),
    }
}

fn check_object(schema: &Value, properties: &Map<String, Value>, answer: Value) -> Result<Value, String> {
    let Value::Object(mut given) = answer else {
        return Err(format!("expected an object, got {}", kind_of(&answer)));
    };
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut checked = Map::new();
    for (name, property) in properties {
        let is_required = required.iter().any(|listed| listed.as_str() == Some(name));
        let value = match given.remove(name) {
            None if is_required => return Err(format!("field '{name}' is required")),
            None if fills_with_null(schema, property) => Value::Null,
            None => continue,
            Some(Value::Null) => Value::Null,
            Some(value) => {
                let kind = FieldType::of_json_type(property.get("type").and_then(Value::as_str));
                kind.coerce(&value).map_err(|reason| format!("field '{name}': {reason}"))?
            }
        };
        checked.insert(name.clone(), value);
    }
    if describes_other_keys(schema) {
        checked.append(&mut given);
    }
    Ok(Value::Object(checked))
}

/// Returns `true` if an absent property becomes null. google-adk fills every absent key, but a Rust field with a
/// default refuses null.
fn fills_with_null(schema: &Value, property: &Value) -> bool {
    schema.get("$schema").is_none() && property.get("default").is_none_or(Value::is_null)
}

/// Returns `true` if keys other than those in `properties` are part of the answer, for example the keys of a flattened
/// field.
fn describes_other_keys(schema: &Value) -> bool {
    let elsewhere = ["allOf", "anyOf", "oneOf", "$ref", "if", "patternProperties", "dependentSchemas"];
    let additional = schema.get("additionalProperties").is_some_and(|keys| *keys != Value::Bool(false));
    additional || elsewhere.iter().any(|keyword| schema.get(keyword).is_some())
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
        assert_eq!(check(optional.clone(), json!({})), Some(json!({"n": null})));
        assert_eq!(check(json!({"anyOf": []}), json!("kept")), Some(json!("kept")));
        // A field with a default stays absent.
        let with_default = json!({"type": "object", "properties": {"n": {"type": "integer", "default": 3}}});
        assert_eq!(check(with_default, json!({})), Some(json!({})));
        let mut of_rust = optional;
        of_rust["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        assert_eq!(check(of_rust, json!({})), Some(json!({})));
    }

    /// The keys of a flattened map or enum are part of the answer.
    #[test]
    fn keys_that_other_keywords_describe_are_kept() {
        let answer = json!({"n": 1, "extra": true});
        for keyword in ["additionalProperties", "oneOf", "allOf", "patternProperties"] {
            let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, keyword: {}});
            assert_eq!(check_answer(&schema, answer.clone()), Ok(answer.clone()), "{keyword}");
        }
    }
}
