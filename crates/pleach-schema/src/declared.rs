//! [`Schema`]: the declared shape of a node's input or output, or of the session state.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use pleach_core::{Content, Map};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{CoerceError, FieldType, coerce, json_or_text, kind_of};

/// A declared shape of a node's input or output, or of the session state. Cheap to clone.
///
/// A schema that was created from a Rust type or from named fields is enforced, and converts data if it can (`"3"` to
/// 3). Raw JSON Schema is shown to clients and not enforced. ADK: `input_schema`, `output_schema`, `state_schema`.
// R164, R303
#[derive(Clone)]
pub struct Schema(Arc<Shape>);

/// One field of a [`Schema::model`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key in the object.
    pub name: String,
    /// The type of the value.
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
        convert: fn(&Value) -> Result<Value, CoerceError>,
    },
}

/// The reason why data does not fit a [`Schema`]. `Display` names the schema and the field, but never the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The value as a whole does not fit.
    #[error("{schema}: {reason}")]
    Value {
        /// The schema's name.
        schema: String,
        /// A description of what the schema expects.
        reason: String,
    },
    /// A field is missing or does not fit.
    #[error("{schema}.{field}: {reason}")]
    Field {
        /// The schema's name.
        schema: String,
        /// The field's name.
        field: String,
        /// A description of what the field expects.
        reason: String,
    },
    /// A state key is not a field of the state schema.
    #[error("Key '{key}' is not declared in state schema '{schema}'. Declared fields: ['{}']", declared.join("', '"))]
    UndeclaredKey {
        /// The state key.
        key: String,
        /// The schema's name.
        schema: String,
        /// The names of the schema's fields, sorted.
        declared: Vec<String>,
    },
    /// A state value does not fit its field of the state schema.
    #[error("Value for '{key}' does not satisfy field of state schema '{schema}': {reason}")]
    StateValue {
        /// The state key.
        key: String,
        /// The schema's name.
        schema: String,
        /// A description of what the field expects.
        reason: String,
    },
}

impl SchemaError {
    /// Returns ADK's class name: `ValidationError`, or `StateSchemaError` for entries of the session state.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Value { .. } | Self::Field { .. } => "ValidationError",
            Self::UndeclaredKey { .. } | Self::StateValue { .. } => "StateSchemaError",
        }
    }
}

impl Field {
    /// Creates a required field.
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
    /// Creates the schema of a Rust type. It is enforced, and data is converted to the form to which the type
    /// serialises.
    #[must_use]
    pub fn of<T: Serialize + DeserializeOwned + JsonSchema + 'static>() -> Self {
        fn convert<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, CoerceError> {
            let typed: T = coerce(value)?;
            pleach_core::to_json(&typed).map_err(CoerceError::from_serializer)
        }
        let json = json_of::<T>();
        let fields = fields_of(&json);
        let name = std::any::type_name::<T>();
        Self(Arc::new(Shape::Rust { type_id: TypeId::of::<T>(), name, json, fields, convert: convert::<T> }))
    }

    /// Creates the schema of an object with these fields. Values are converted, unknown keys are dropped, and absent
    /// optional fields become null.
    pub fn model(name: impl Into<String>, fields: impl IntoIterator<Item = Field>) -> Self {
        Self(Arc::new(Shape::Model { name: name.into(), fields: fields.into_iter().collect() }))
    }

    /// Wraps a raw JSON Schema, which is shown to clients and not enforced.
    // R303
    #[must_use]
    pub fn json(schema: Value) -> Self {
        Self(Arc::new(Shape::Json(schema)))
    }

    /// Returns the name that error texts use.
    #[must_use]
    pub fn name(&self) -> &str {
        match &*self.0 {
            Shape::Json(schema) => schema.get("title").and_then(Value::as_str).unwrap_or("schema"),
            Shape::Model { name, .. } => name,
            Shape::Rust { name, .. } => name.rsplit("::").next().unwrap_or(name),
        }
    }

    /// Returns the JSON Schema of the shape.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &*self.0 {
            Shape::Json(schema) | Shape::Rust { json: schema, .. } => schema.clone(),
            Shape::Model { name, fields } => model_json(name, fields),
        }
    }

    /// Returns the declared top-level fields; an empty slice for raw JSON Schema.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &*self.0 {
            Shape::Json(_) => &[],
            Shape::Model { fields, .. } | Shape::Rust { fields, .. } => fields,
        }
    }

    /// Returns `true` if data is checked against the shape.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        !matches!(&*self.0, Shape::Json(_))
    }

    /// Returns `true` if both are the same schema: clones of one schema, or created from the same Rust type.
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

    /// Checks and converts data. Null stays null, and null fields of the result are dropped at every depth.
    ///
    /// # Errors
    /// [`SchemaError::Value`] or [`SchemaError::Field`].
    // R303
    pub fn apply(&self, value: &Value) -> Result<Value, SchemaError> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let converted = match &*self.0 {
            Shape::Json(_) => return Ok(value.clone()),
            Shape::Model { name, fields } => model_value(name, fields, value)?,
            Shape::Rust { convert, .. } => convert(value)
                .map_err(|error| SchemaError::Value { schema: self.name().to_owned(), reason: error.to_string() })?,
        };
        Ok(without_nulls(converted))
    }

    /// Checks and converts the data of a message; see [`data_of`](Self::data_of).
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply).
    // R304
    pub fn apply_content(&self, content: &Content) -> Result<Value, SchemaError> {
        self.apply(&self.data_of(content))
    }

    /// Returns the data that this schema reads from a message: its text for string types, otherwise the JSON in the
    /// text.
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

    /// Checks an entry of the session state. Keys with a scope prefix are exempt.
    ///
    /// # Errors
    /// [`SchemaError::UndeclaredKey`] or [`SchemaError::StateValue`].
    // R164, S17
    pub fn check_state_entry(&self, key: &str, value: &Value) -> Result<(), SchemaError> {
        if key.contains(':') || !self.is_enforced() {
            return Ok(());
        }
        let Some(field) = self.fields().iter().find(|field| field.name == key) else {
            let mut declared: Vec<String> = self.fields().iter().map(|field| field.name.clone()).collect();
            declared.sort_unstable();
            return Err(SchemaError::UndeclaredKey { key: key.to_owned(), schema: self.name().to_owned(), declared });
        };
        if field.optional && value.is_null() {
            return Ok(());
        }
        let fits = field.kind.coerce(value).map(drop);
        fits.map_err(|reason| SchemaError::StateValue { key: key.to_owned(), schema: self.name().to_owned(), reason })
    }
}

fn model_value(name: &str, fields: &[Field], value: &Value) -> Result<Value, SchemaError> {
    let Value::Object(given) = value else {
        let reason = format!("expected an object, got {}", kind_of(value));
        return Err(SchemaError::Value { schema: name.to_owned(), reason });
    };
    let of_field = |field: &Field, reason: String| SchemaError::Field {
        schema: name.to_owned(),
        field: field.name.clone(),
        reason,
    };
    let mut result = Map::new();
    for field in fields {
        let converted = match given.get(&field.name) {
            None if field.optional => Value::Null,
            Some(Value::Null) if field.optional => Value::Null,
            None => return Err(of_field(field, "field is required".to_owned())),
            Some(value) => {
                let fits = field.kind.coerce(value);
                fits.map_err(|reason| of_field(field, reason))?
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

/// Returns the JSON schema of a Rust type.
fn json_of<T: JsonSchema>() -> Value {
    let name_no_fields: fn(&mut schemars::Schema) = name_no_fields;
    let settings = SchemaSettings::default().with_transform(RecursiveTransform(name_no_fields));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Declares that a struct without fields has none. schemars writes only `"type": "object"`, which allows any fields.
fn name_no_fields(schema: &mut schemars::Schema) {
    const OTHERS: [&str; 8] =
        ["$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "oneOf", "patternProperties"];
    let Some(members) = schema.as_object_mut() else { return };
    let is_object = members.get("type").is_some_and(|kind| kind == "object");
    if is_object && !OTHERS.iter().any(|keyword| members.contains_key(*keyword)) {
        members.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
}

/// Returns the top-level fields that a JSON schema declares.
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

/// Returns the type of a property if it has only one type, apart from null.
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
        assert_eq!(user().apply(&json!({"note": "x"})).unwrap_err().code(), "ValidationError");
    }

    #[test]
    fn a_struct_without_fields_does_not_allow_any_fields() {
        #[derive(Serialize, serde::Deserialize, JsonSchema)]
        struct Empty {}
        #[derive(Serialize, serde::Deserialize, JsonSchema)]
        enum Step {
            Wait {},
            Go { empty: Option<Empty>, any: std::collections::BTreeMap<String, Value> },
        }
        let json = json_of::<Empty>();
        assert_eq!((&json["type"], &json["properties"]), (&json!("object"), &json!({})));
        let json = json_of::<Step>();
        assert_eq!(json["$defs"]["Empty"]["properties"], json!({}));
        let variants = json["oneOf"].as_array().unwrap();
        assert_eq!(variants[0]["properties"]["Wait"]["properties"], json!({}));
        let any = &variants[1]["properties"]["Go"]["properties"]["any"];
        assert!(any.get("properties").is_none() && any["additionalProperties"] == true, "{any}");
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
        assert_eq!(user().check_state_entry("zz", &json!(1)).unwrap_err().code(), "StateSchemaError");
        assert_eq!(user().check_state_entry("n", &json!("abc")).unwrap_err().code(), "StateSchemaError");
    }
}
