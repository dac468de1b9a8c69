//! Checks a value against a shape. The check finds all problems, and normalises the value to camelCase names and plain
//! kinds.

use pleach_core::Bytes;
use serde_json::{Map, Number, Value};

use super::problem::{Problem, Step};
use super::shape::{Field, Kind, Need, Shape};
use crate::query::flag_word;

/// The maximum number of problems that a reply lists.
const LISTED: usize = 100;

/// Checks the body of a request.
///
/// # Errors
/// All problems of the body.
pub(super) fn check(kind: Kind, body: Value) -> Result<Value, Vec<Problem>> {
    let mut checker = Checker { loc: vec![Step::name("body")], problems: Vec::new() };
    let checked = checker.value(kind, body);
    if checker.problems.is_empty() { Ok(checked) } else { Err(checker.problems) }
}

/// Returns the problem of an absent body.
pub(super) fn missing() -> Problem {
    Problem::new("missing", vec![Step::name("body")], "Field required").with_input(&Value::Null)
}

struct Checker {
    loc: Vec<Step>,
    problems: Vec<Problem>,
}

impl Checker {
    fn fault(&mut self, kind: &'static str, msg: &'static str, input: &Value) {
        if self.problems.len() < LISTED {
            self.problems.push(Problem::new(kind, self.loc.clone(), msg).with_input(input));
        }
    }

    fn at<T>(&mut self, step: Step, check: impl FnOnce(&mut Self) -> T) -> T {
        self.loc.push(step);
        let checked = check(self);
        self.loc.pop();
        checked
    }

    /// Returns the checked value. A value that does not fit is noted as a problem and stays unchanged.
    fn value(&mut self, kind: Kind, value: Value) -> Value {
        match (kind, value) {
            (Kind::Any, value) => value,
            (Kind::Text, value @ Value::String(_)) | (Kind::Object, value @ Value::Object(_)) => value,
            (Kind::Flag, value) => self.flag(value),
            (Kind::Number, value) => self.number(value),
            (Kind::Bytes, value) => self.bytes(value),
            (Kind::List(kind) | Kind::Set(kind), Value::Array(items)) => self.list(*kind, items),
            (Kind::Model(shape), Value::Object(object)) => Value::Object(self.model(shape, object)),
            (kind, value) => {
                let (name, msg) = wrong_kind(kind);
                self.fault(name, msg, &value);
                value
            }
        }
    }

    fn list(&mut self, kind: Kind, items: Vec<Value>) -> Value {
        let items = items.into_iter().enumerate();
        items.map(|(index, item)| self.at(Step::Index(index), |this| this.value(kind, item))).collect()
    }

    fn model(&mut self, shape: &Shape, mut object: Map<String, Value>) -> Map<String, Value> {
        let mut checked = Map::new();
        for field in shape.fields {
            let snake = snake_name(field.name);
            let found = object.remove(field.name).map(|value| (field.name.to_owned(), value));
            // In a closed shape, a second spelling of the same member is an extra member.
            let is_extra = found.is_some() && shape.is_closed;
            let other = if snake == field.name || is_extra { None } else { object.remove(&snake) };
            let Some((name, value)) = found.or(other.map(|value| (snake, value))) else {
                if field.need == Need::Required {
                    self.absent(field, &object, &checked);
                }
                continue;
            };
            if value.is_null() && field.need == Need::Optional {
                continue;
            }
            let value = self.at(Step::Name(name), |this| this.value(field.kind, value));
            checked.insert(field.name.to_owned(), value);
        }
        if shape.is_closed {
            for (name, value) in object {
                self.at(Step::Name(name), |this| {
                    this.fault("extra_forbidden", "Extra inputs are not permitted", &value)
                });
            }
        }
        checked
    }

    /// Notes that a member is absent. The problem's input is the object, as far as it is normalised by then.
    fn absent(&mut self, field: &Field, rest: &Map<String, Value>, checked: &Map<String, Value>) {
        let known = rest.iter().chain(checked).map(|(name, value)| (name.clone(), value.clone()));
        let whole = Value::Object(known.collect());
        self.at(Step::name(field.name), |this| this.fault("missing", "Field required", &whole));
    }

    fn flag(&mut self, value: Value) -> Value {
        let known = match &value {
            Value::Bool(_) => return value,
            Value::String(word) => flag_word(word),
            Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
            Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
            Value::Number(_) => None,
            _ => {
                self.fault("bool_type", "Input should be a valid boolean", &value);
                return value;
            }
        };
        known.map(Value::Bool).unwrap_or_else(|| {
            self.fault("bool_parsing", "Input should be a valid boolean, but the value cannot be read as one", &value);
            value
        })
    }

    fn number(&mut self, value: Value) -> Value {
        let known = match &value {
            Value::Number(_) => return value,
            Value::Bool(yes) => Some(Number::from(u8::from(*yes))),
            Value::String(word) => word.trim().parse().ok().and_then(Number::from_f64),
            _ => None,
        };
        known.map(Value::Number).unwrap_or_else(|| {
            let kind = if value.is_string() { "float_parsing" } else { "float_type" };
            self.fault(kind, "Input should be a valid number", &value);
            value
        })
    }

    fn bytes(&mut self, value: Value) -> Value {
        match &value {
            Value::String(text) if is_strict(text) && Bytes::from_base64(text).is_ok() => {}
            Value::String(_) => self.fault("bytes_invalid_encoding", "Data should be valid base64", &value),
            _ => self.fault("bytes_type", "Input should be valid bytes", &value),
        }
        value
    }
}

/// Returns true if a base64 string uses only one of the two alphabets, plain or URL, and has no bits after its last
/// byte.
fn is_strict(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let ends_clean = match digits.len() % 4 {
        2 => digits.ends_with(['A', 'Q', 'g', 'w']),
        3 => digits.ends_with(|last| "AEIMQUYcgkosw048".contains(last)),
        _ => true,
    };
    ends_clean && !(text.contains(['+', '/']) && text.contains(['-', '_']))
}

fn wrong_kind(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Object => ("dict_type", "Input should be a valid dictionary"),
        Kind::List(_) => ("list_type", "Input should be a valid list"),
        Kind::Set(_) => ("set_type", "Input should be a valid set"),
        Kind::Model(_) => {
            ("model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
        }
        _ => ("string_type", "Input should be a valid string"),
    }
}

/// Turns `stateDelta` into `state_delta`.
fn snake_name(camel: &str) -> String {
    let mut snake = String::with_capacity(camel.len() + 4);
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::body::tables::{ARTIFACT, CREATE, RUN, UPDATE};

    fn problems(shape: &'static Shape, body: Value) -> Vec<Value> {
        let Err(problems) = check(Kind::Model(shape), body) else { return Vec::new() };
        problems.iter().map(|problem| problem.to_json()).map(|json| json!([json["type"], json["loc"]])).collect()
    }

    fn run(changes: Value) -> Value {
        let mut body = json!({"appName": "demo", "userId": "u", "sessionId": "s"});
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        body
    }

    // H5: kinds and places, as recorded from google-adk.
    #[test]
    fn h5_every_problem_is_named_with_its_place() {
        let message = |part: Value| run(json!({"newMessage": {"parts": [part]}}));
        let part = |path: Value| {
            let mut loc = vec![json!("body"), json!("newMessage"), json!("parts"), json!(0)];
            loc.extend(path.as_array().unwrap().iter().cloned());
            loc
        };
        for (body, expected) in [
            (json!({}), json!([["missing", ["body", "userId"]], ["missing", ["body", "sessionId"]]])),
            (run(json!({"userId": 1})), json!([["string_type", ["body", "userId"]]])),
            (run(json!({"userId": null})), json!([["string_type", ["body", "userId"]]])),
            (run(json!({"streaming": "maybe"})), json!([["bool_parsing", ["body", "streaming"]]])),
            (run(json!({"streaming": null})), json!([["bool_type", ["body", "streaming"]]])),
            (run(json!({"stateDelta": [1]})), json!([["dict_type", ["body", "stateDelta"]]])),
            (run(json!({"newMessage": "x"})), json!([["model_attributes_type", ["body", "newMessage"]]])),
            (run(json!({"new_message": {"parts": "x"}})), json!([["list_type", ["body", "new_message", "parts"]]])),
            (message(json!("x")), json!([["model_attributes_type", part(json!([]))]])),
            (message(json!({"text": 1})), json!([["string_type", part(json!(["text"]))]])),
            (message(json!({"foo": 1})), json!([["extra_forbidden", part(json!(["foo"]))]])),
            (
                message(json!({"inlineData": {"data": "!!"}})),
                json!([["bytes_invalid_encoding", part(json!(["inlineData", "data"]))]]),
            ),
            (
                message(json!({"functionCall": {"args": 1, "zz": 2}})),
                json!([
                    ["dict_type", part(json!(["functionCall", "args"]))],
                    ["extra_forbidden", part(json!(["functionCall", "zz"]))]
                ]),
            ),
            (
                message(json!({"function_response": {"id": 1}})),
                json!([["string_type", part(json!(["function_response", "id"]))]]),
            ),
        ] {
            assert_eq!(json!(problems(&RUN, body.clone())), expected, "{body}");
        }
        assert_eq!(problems(&UPDATE, json!({"stateDelta": null})), [json!(["dict_type", ["body", "stateDelta"]])]);
        assert_eq!(problems(&ARTIFACT, json!({"filename": "x"})), [json!(["missing", ["body", "artifact"]])]);
        let events = json!({"events": [{"actions": {"foo": 1}}]});
        assert_eq!(problems(&CREATE, events), [json!(["extra_forbidden", ["body", "events", 0, "actions", "foo"]])]);
    }

    // H1, H6
    #[test]
    fn h6_either_spelling_is_read_and_unknown_members_are_dropped() {
        let body = json!({
            "app_name": "a", "userId": "u", "user_id": "other", "session_id": "s", "foo": 1, "streaming": "yes",
            "state_delta": {"some_key": null}, "custom_metadata": null,
        });
        let expected = json!({
            "appName": "a", "userId": "u", "sessionId": "s", "streaming": true, "stateDelta": {"some_key": null},
        });
        assert_eq!(check(Kind::Model(&RUN), body).unwrap(), expected);
    }

    #[test]
    fn h5_a_large_input_is_not_repeated() {
        let body = json!({"userId": vec!["x"; 100]});
        let problems = check(Kind::Model(&RUN), body).unwrap_err();
        assert!(problems.iter().all(|problem| problem.to_json().get("input").is_none()), "{problems:?}");
        let many: Vec<Value> = (0..1000).map(Value::from).collect();
        let body = run(json!({"newMessage": {"parts": many}}));
        assert_eq!(check(Kind::Model(&RUN), body).unwrap_err().len(), LISTED);
    }
}
