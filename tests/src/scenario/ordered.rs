//! Reads a scenario's text and keeps the order of assignments.
//!
//! `let` and `set_state` evaluate their entries one after the other, and a later entry may see the values of an earlier
//! one. JSON objects of `serde_json` lose the order of their keys, so the objects of these two steps are read as lists
//! of pairs. For the same reason, the `json` of a model's response is read as text, which becomes the text of the
//! response.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// Reads the text of a scenario.
///
/// # Errors
/// The text is not JSON.
pub fn read(text: &str) -> serde_json::Result<Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Place::Elsewhere.deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

/// The place of a value in a scenario.
#[derive(Clone, Copy)]
enum Place {
    Elsewhere,
    /// The bodies of hooks, by kind.
    Bodies,
    /// A list of steps, or a step in one.
    Steps,
    /// The entries of an assignment.
    Assignments,
    /// The responses of a model.
    Responses,
    /// A schema, whose fields keep their order.
    Schema,
}

impl Place {
    /// The place of the value of a key.
    fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Bodies, _) | (_, "steps" | "then" | "else" | "try" | "instruction_steps") => Self::Steps,
            (_, "hooks" | "callbacks") => Self::Bodies,
            (Self::Steps, "let" | "set_state") => Self::Assignments,
            (Self::Elsewhere, "input_schema" | "output_schema" | "state_schema") => Self::Schema,
            (Self::Schema, "fields") => Self::Assignments,
            (Self::Elsewhere, "responses") | (Self::Responses, "chunks") => Self::Responses,
            _ => Self::Elsewhere,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Place {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        if matches!(self, Self::Assignments) {
            let mut pairs = Vec::new();
            while let Some(name) = entries.next_key::<String>()? {
                pairs.push(Value::from(vec![name.into(), entries.next_value_seed(Self::Elsewhere)?]));
            }
            return Ok(pairs.into());
        }
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if matches!(self, Self::Responses) && key == "json" {
                let text = entries.next_value::<Box<RawValue>>()?;
                map.insert(JSON_TEXT.to_owned(), compact(text.get()).into());
                continue;
            }
            let value = entries.next_value_seed(self.below(&key))?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

/// The key of the text that replaces a response's `json`.
pub(crate) const JSON_TEXT: &str = "json_text";

/// JSON without blanks, in ASCII, with its keys in the order of the text.
fn compact(json: &str) -> String {
    let (mut text, mut in_string, mut escaped) = (String::new(), false, false);
    for letter in json.chars() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else if letter.is_whitespace() {
            continue;
        } else {
            in_string = letter == '"';
        }
        if letter.is_ascii() {
            text.push(letter);
        } else {
            letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn assignments_keep_their_order_and_data_is_left_alone() {
        let text = r#"{"hooks": {"after_run": [{"let": {"b": 1, "a": {"let": {"x": 1}}}}]},
                       "steps": [{"if": 1, "then": [{"set_state": {"z": 1.5, "y": null}}]},
                                 {"return": {"let": {"b": true, "a": -1}}}]}"#;
        let expected = json!({
            "hooks": {"after_run": [{"let": [["b", 1], ["a", {"let": {"x": 1}}]]}]},
            "steps": [{"if": 1, "then": [{"set_state": [["z", 1.5], ["y", null]]}]},
                      {"return": {"let": {"b": true, "a": -1}}}],
        });
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("{} x").is_err());
    }

    #[test]
    fn json_that_a_model_says_keeps_its_order() {
        let text = r#"{"model": {"responses": [{"json": {"b": "a \" é", "a": [1, 2]}}, {"chunks": [{"json": 1}]}]}}"#;
        let said = r#"{"b":"a \" \u00e9","a":[1,2]}"#;
        let responses = json!([{"json_text": said}, {"chunks": [{"json_text": "1"}]}]);
        assert_eq!(read(text).unwrap(), json!({"model": {"responses": responses}}));
    }
}
