//! [`Schema`]: a shape that data is checked against and converted to.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use pleach_core::{Content, Map};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use pleach_schema::json_or_text;

use crate::{NodeError, lax};
use pleach_schema::FieldType;

/// A declared shape of a node's input or output, or of the session state.
///
/// A schema made from a Rust type or from named fields is enforced and converts what fits (`"3"` to 3); raw JSON
/// Schema is carried along for clients and never enforced. ADK: `input_schema`, `output_schema`, `state_schema`.
// R164, R303
#[derive(Clone)]
pub struct Schema(Arc<Shape>);

/// One field of a [`Schema::model`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key.
    pub name: String,
    /// The type of its value.
    pub kind: FieldType,
    /// Whether the key may be absent or null.
    pub optional: bool,
}

enum Shape {
    Json(Value),
    Model {
        name: String,
        fields: Vec<Field>,
    },
    Rust {
        type_id: TypeId,
        name: &'static str,
        json: Value,
        fields: Vec<Field>,
        convert: fn(&Value) -> Result<Value, NodeError>,
    },
}

impl Field {
    /// A required field.
    pub fn new(name: impl Into<String>, kind: FieldType) -> Self {
        Self { name: name.into(), kind, optional: false }
    }

    /// Makes the field optional, with null as its default.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl Schema {
    /// The schema of a Rust type: enforced, and data is converted to what the type serialises to.
    #[must_use]
    pub fn of<T: Serialize + DeserializeOwned + JsonSchema + 'static>() -> Self {
        fn convert<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, NodeError> {
            let typed: T = lax::from_value(value)?;
            pleach_core::to_json(&typed).map_err(|error| NodeError::validation(error.to_string()))
        }
        let json = schemars::schema_for!(T).to_value();
        let fields = fields_of(&json);
        let name = std::any::type_name::<T>();
        Self(Arc::new(Shape::Rust { type_id: TypeId::of::<T>(), name, json, fields, convert: convert::<T> }))
    }

    /// An object with these fields: values are converted, unknown keys dropped, absent optional ones null.
    pub fn model(name: impl Into<String>, fields: impl IntoIterator<Item = Field>) -> Self {
        Self(Arc::new(Shape::Model { name: name.into(), fields: fields.into_iter().collect() }))
    }

    /// A raw JSON Schema: shown to clients, never enforced.
    // R303
    #[must_use]
    pub fn json(schema: Value) -> Self {
        Self(Arc::new(Shape::Json(schema)))
    }

    /// The name for error texts.
    #[must_use]
    pub fn name(&self) -> &str {
        match &*self.0 {
            Shape::Json(schema) => schema.get("title").and_then(Value::as_str).unwrap_or("schema"),
            Shape::Model { name, .. } => name,
            Shape::Rust { name, .. } => name.rsplit("::").next().unwrap_or(name),
        }
    }

    /// The JSON Schema of the shape.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &*self.0 {
            Shape::Json(schema) | Shape::Rust { json: schema, .. } => schema.clone(),
            Shape::Model { name, fields } => model_json(name, fields),
        }
    }

    /// The declared top-level fields; empty for raw JSON Schema.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &*self.0 {
            Shape::Json(_) => &[],
            Shape::Model { fields, .. } | Shape::Rust { fields, .. } => fields,
        }
    }

    /// Whether data is checked against the shape at all.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        !matches!(&*self.0, Shape::Json(_))
    }

    /// Whether both are the same schema: the same object, or made from the same Rust type.
    // R610
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        match (&*self.0, &*other.0) {
            (Shape::Rust { type_id: a, .. }, Shape::Rust { type_id: b, .. }) => a == b,
            _ => false,
        }
    }

    /// Checks and converts data; null stays null, and null fields of the result are dropped at every depth.
    ///
    /// # Errors
    /// A `ValidationError` that names the schema and the field.
    // R303
    pub fn apply(&self, value: &Value) -> Result<Value, NodeError> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let converted = match &*self.0 {
            Shape::Json(_) => return Ok(value.clone()),
            Shape::Model { name, fields } => model_value(name, fields, value)?,
            Shape::Rust { convert, .. } => convert(value)
                .map_err(|error| NodeError::validation(format!("{}: {}", self.name(), error.message())))?,
        };
        Ok(without_nulls(converted))
    }

    /// The same for a message: its text parsed as JSON, or as text.
    ///
    /// # Errors
    /// A `ValidationError` that names the schema and the field.
    // R304
    pub fn apply_content(&self, content: &Content) -> Result<Value, NodeError> {
        self.apply(&self.data_of(content))
    }

    /// The data that this schema reads in a message: its text where a text is wanted, else the JSON in the text.
    #[must_use]
    pub fn data_of(&self, content: &Content) -> Value {
        let text = content.text();
        if let Shape::Rust { json, .. } = &*self.0
            && json.get("type").and_then(Value::as_str) == Some("string")
        {
            return Value::String(text);
        }
        json_or_text(&text)
    }

    /// Checks one entry of the session state; keys with a scope prefix are exempt.
    ///
    /// # Errors
    /// A `StateSchemaError` that names the key.
    // R164, S17
    pub fn check_state_entry(&self, key: &str, value: &Value) -> Result<(), NodeError> {
        if key.contains(':') || !self.is_enforced() {
            return Ok(());
        }
        let Some(field) = self.fields().iter().find(|field| field.name == key) else {
            let mut declared: Vec<&str> = self.fields().iter().map(|field| field.name.as_str()).collect();
            declared.sort_unstable();
            let message = format!(
                "Key '{key}' is not declared in state schema '{}'. Declared fields: ['{}']",
                self.name(),
                declared.join("', '")
            );
            return Err(NodeError::new("StateSchemaError", message));
        };
        if field.optional && value.is_null() {
            return Ok(());
        }
        let fits = field.kind.coerce(value).map(drop);
        fits.map_err(|reason| {
            let message =
                format!("Value for '{key}' does not satisfy field of state schema '{}': {reason}", self.name());
            NodeError::new("StateSchemaError", message)
        })
    }
}

fn model_value(name: &str, fields: &[Field], value: &Value) -> Result<Value, NodeError> {
    let Value::Object(given) = value else {
        let message = format!("{name}: an object is wanted, {} is given", pleach_schema::kind_of(value));
        return Err(NodeError::validation(message));
    };
    let mut result = Map::new();
    for field in fields {
        let converted = match given.get(&field.name) {
            None if field.optional => Value::Null,
            Some(Value::Null) if field.optional => Value::Null,
            None => return Err(NodeError::validation(format!("{name}.{}: field is required", field.name))),
            Some(value) => {
                let fits = field.kind.coerce(value);
                fits.map_err(|reason| NodeError::validation(format!("{name}.{}: {reason}", field.name)))?
            }
        };
        result.insert(field.name.clone(), converted);
    }
    Ok(Value::Object(result))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

fn model_json(name: &str, fields: &[Field]) -> Value {
    let property = |field: &Field| match field.kind.json_type() {
        Some(kind) => serde_json::json!({ "type": kind }),
        None => Value::Object(Map::new()),
    };
    let properties: Map = fields.iter().map(|field| (field.name.clone(), property(field))).collect();
    let required: Vec<&str> = fields.iter().filter(|field| !field.optional).map(|field| field.name.as_str()).collect();
    serde_json::json!({ "title": name, "type": "object", "properties": properties, "required": required })
}

/// The top-level fields that a JSON schema declares.
fn fields_of(json: &Value) -> Vec<Field> {
    let required: Vec<&str> = json
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = json.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let field = |(name, property): (&String, &Value)| Field {
        name: name.clone(),
        kind: FieldType::of_json_type(sole_type(property)),
        optional: !required.contains(&name.as_str()),
    };
    properties.iter().map(field).collect()
}

/// The type that a property has beside null, if it is only one.
fn sole_type(property: &Value) -> Option<&str> {
    match property.get("type")? {
        Value::Array(types) => {
            let mut types = types.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            types.next().filter(|_| types.next().is_none())
        }
        one => one.as_str(),
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user() -> Schema {
        Schema::model("User", [Field::new("n", FieldType::Int), Field::new("note", FieldType::Str).optional()])
    }

    #[test]
    fn r303_a_model_converts_drops_unknown_keys_and_nulls() {
        assert_eq!(user().apply(&json!({"n": "3", "note": null, "extra": 1})).unwrap(), json!({"n": 3}));
        assert_eq!(user().apply(&Value::Null).unwrap(), Value::Null);
        assert_eq!(user().apply(&json!({"note": "x"})).unwrap_err().class(), "ValidationError");
    }

    #[test]
    fn e41_raw_json_schema_is_not_enforced() {
        let schema = Schema::json(json!({"type": "integer"}));
        assert_eq!(schema.apply(&json!("no number")).unwrap(), json!("no number"));
    }

    #[test]
    fn e38_state_entries_are_checked_and_scoped_keys_exempt() {
        assert!(user().check_state_entry("n", &json!("5")).is_ok());
        assert!(user().check_state_entry("temp:x", &json!(1)).is_ok());
        assert_eq!(user().check_state_entry("zz", &json!(1)).unwrap_err().class(), "StateSchemaError");
        assert_eq!(user().check_state_entry("n", &json!("abc")).unwrap_err().class(), "StateSchemaError");
    }
}
