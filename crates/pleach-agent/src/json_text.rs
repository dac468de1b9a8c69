//! JSON in the format of Python's `json.dumps`, which models read.

use std::io;

use pleach_context::Field;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Writes JSON on one line, with a space after each colon and comma and without escapes for non-ASCII letters:
/// `{"a": [1, "é"]}`.
// L55, L61
///
/// # Errors
/// The value's own `Serialize` fails.
pub fn json_text<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// Writes an object with its fields in the order of a schema. Fields that the schema does not have come last.
// L61
pub(crate) fn in_order_of(value: &Value, fields: &[Field]) -> serde_json::Result<String> {
    let Value::Object(members) = value else { return json_text(value) };
    let known = fields.iter().filter_map(|field| members.get_key_value(&field.name));
    let others = members.iter().filter(|(key, _)| fields.iter().all(|field| field.name != **key));
    let members = known.chain(others).map(|(key, value)| Ok(format!("{}: {}", json_text(key)?, json_text(value)?)));
    Ok(format!("{{{}}}", members.collect::<serde_json::Result<Vec<_>>>()?.join(", ")))
}

/// A formatter that puts a space after each colon and comma.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::json_text;

    #[test]
    fn l55_l61_json_for_models_has_spaces() {
        let value = json!({"a": [1, "é, \"x\": y"], "b": {}, "c": []});
        assert_eq!(json_text(&value).unwrap(), r#"{"a": [1, "é, \"x\": y"], "b": {}, "c": []}"#);
    }
}
