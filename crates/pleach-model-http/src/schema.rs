//! JSON Schemas, with types as JSON Schema writes them.

use serde_json::{Map, Value};

/// Returns the schema with its types in lower case, as JSON Schema has them.
pub(crate) fn with_lower_types(schema: &Value) -> Value {
    fn lower(schema: &mut Value) {
        match schema {
            Value::Object(object) => {
                lower_type(object);
                object.values_mut().for_each(lower);
            }
            Value::Array(items) => items.iter_mut().for_each(lower),
            _ => {}
        }
    }
    let mut schema = schema.clone();
    lower(&mut schema);
    schema
}

/// Turns the type of one schema into lower case.
pub(crate) fn lower_type(object: &mut Map<String, Value>) {
    const TYPES: [&str; 7] = ["OBJECT", "ARRAY", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "NULL"];
    if let Some(Value::String(kind)) = object.get_mut("type")
        && TYPES.contains(&kind.as_str())
    {
        kind.make_ascii_lowercase();
    }
}
