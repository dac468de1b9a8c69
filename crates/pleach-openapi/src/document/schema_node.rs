//! [`Converter`]: converts one schema of the document to JSON Schema.
//!
//! Keywords that do not describe values are left out: `xml`, `discriminator`, `externalDocs` and extensions. `readOnly`
//! properties are also left out, because requests do not contain them.

use pleach_core::Map;
use serde_json::{Value, json};

use super::schema_anchors::Reference;
use super::schema_targets::Targets;
use super::value::member;
use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// Keywords whose values are data.
const DATA: [&str; 25] = [
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
];
/// Keywords whose values are schemas.
const SCHEMAS: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose values are lists of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose members are schemas under names that the author has chosen.
const MAPS: [&str; 3] = ["dependentSchemas", "patternProperties", "properties"];
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Converts schemas, and collects the schemas that they refer to.
pub(super) struct Converter<'a, 'd> {
    pub(super) targets: &'a mut Targets<'d>,
    pub(super) refers_to: Vec<String>,
    pub(super) faults: &'a mut Faults,
}

impl Converter<'_, '_> {
    /// Converts a schema. The recursion ends because the depth of a document is limited.
    pub(super) fn schema(&mut self, schema: &Value, pointer: &str) -> Value {
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(_) => return schema.clone(),
            _ => return self.fault(pointer, OpenApiFaultKind::Expected("a schema")),
        };
        if let Some((keyword, reference)) = Reference::of(members) {
            let Some(reference) = reference else {
                return self.fault(&member(pointer, keyword), OpenApiFaultKind::Expected("a string"));
            };
            return self.reference(&reference, members, pointer);
        }
        let mut converted = self.keywords(members, pointer);
        self.types(members, &mut converted, pointer);
        bounds(&mut converted);
        nullable(members, converted)
    }

    fn fault(&mut self, pointer: &str, kind: OpenApiFaultKind) -> Value {
        self.faults.add(pointer, kind);
        json!({})
    }

    fn reference(&mut self, reference: &Reference<'_>, members: &Map, pointer: &str) -> Value {
        let (target, name) = match self.targets.target(reference, pointer) {
            Ok(target) => target,
            Err(kind) => return self.fault(pointer, kind),
        };
        self.refers_to.push(target);
        // Before 3.1, keywords next to a reference have no meaning. Only a description is kept, because it does no
        // harm.
        let mut converted = Map::new();
        if self.targets.document.is_3_1 {
            converted = self.keywords(members, pointer);
            self.types(members, &mut converted, pointer);
        } else if let Some(text) = members.get("description") {
            converted.insert("description".to_owned(), text.clone());
        }
        converted.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
        match members.get("nullable") {
            Some(Value::Bool(true)) => json!({"anyOf": [converted, {"type": "null"}]}),
            _ => converted.into(),
        }
    }

    fn keywords(&mut self, members: &Map, pointer: &str) -> Map {
        let mut converted = Map::new();
        for (keyword, value) in members {
            let at = member(pointer, keyword);
            let of_keyword = match (keyword.as_str(), value) {
                (name, value) if DATA.contains(&name) => value.clone(),
                ("example", example) if !members.contains_key("examples") => json!([example]),
                (name, value) if SCHEMAS.contains(&name) => self.schema(value, &at),
                (name, Value::Array(items)) if LISTS.contains(&name) => {
                    let items = items.iter().enumerate();
                    items.map(|(index, item)| self.schema(item, &format!("{at}/{index}"))).collect()
                }
                (name, Value::Object(named)) if MAPS.contains(&name) => {
                    let named = named.iter().filter(|(_, schema)| !is_read_only(schema));
                    Value::Object(
                        named.map(|(name, schema)| (name.clone(), self.schema(schema, &member(&at, name)))).collect(),
                    )
                }
                (name, _) if LISTS.contains(&name) => self.fault(&at, OpenApiFaultKind::Expected("a list of schemas")),
                (name, _) if MAPS.contains(&name) => {
                    self.fault(&at, OpenApiFaultKind::Expected("an object of schemas"))
                }
                ("required", Value::Array(names)) => required(names, members),
                ("required", _) => self.fault(&at, OpenApiFaultKind::Expected("a list of names")),
                ("uniqueItems", value) => value.clone(),
                _ => continue,
            };
            converted.insert(keyword_of(keyword), of_keyword);
        }
        converted
    }

    fn types(&mut self, members: &Map, converted: &mut Map, pointer: &str) {
        let kinds = match members.get("type") {
            None | Some(Value::Null) => return,
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().map(|kind| kind.as_str().unwrap_or_default()).collect(),
            Some(_) => vec![""],
        };
        let kinds: Vec<String> = kinds.into_iter().map(str::to_ascii_lowercase).collect();
        // Some services write the type `any` for values of all types.
        if kinds.iter().any(|kind| kind == "any") {
            return;
        }
        if kinds.is_empty() || !kinds.iter().all(|kind| TYPES.contains(&kind.as_str())) {
            self.faults.add(&member(pointer, "type"), OpenApiFaultKind::Expected("a type of JSON Schema"));
            return;
        }
        let kind = if kinds.len() == 1 { json!(kinds[0]) } else { json!(kinds) };
        converted.insert("type".to_owned(), kind);
    }
}

fn keyword_of(keyword: &str) -> String {
    if keyword == "example" { "examples".to_owned() } else { keyword.to_owned() }
}

pub(super) fn is_read_only(schema: &Value) -> bool {
    schema.get("readOnly") == Some(&Value::Bool(true))
}

fn required(names: &[Value], members: &Map) -> Value {
    let is_sent = |name: &&Value| {
        let property = name.as_str().and_then(|name| members.get("properties")?.get(name));
        name.is_string() && !property.is_some_and(is_read_only)
    };
    names.iter().filter(is_sent).cloned().collect()
}

/// In 3.0 `exclusiveMinimum: true` makes `minimum` exclusive.
fn bounds(converted: &mut Map) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        let Some(Value::Bool(is_exclusive)) = converted.get(exclusive) else { continue };
        let is_exclusive = *is_exclusive;
        converted.remove(exclusive);
        if is_exclusive && let Some(limit) = converted.remove(bound) {
            converted.insert(exclusive.to_owned(), limit);
        }
    }
}

/// Adds null to the values of a schema that is `nullable` (OpenAPI 3.0).
fn nullable(members: &Map, mut converted: Map) -> Value {
    if members.get("nullable") != Some(&Value::Bool(true)) {
        return converted.into();
    }
    let combines = ["allOf", "anyOf", "oneOf"].iter().any(|keyword| converted.contains_key(*keyword));
    match converted.get("type") {
        None if combines => return json!({"anyOf": [converted, {"type": "null"}]}),
        Some(Value::String(kind)) => {
            let kinds = json!([kind, "null"]);
            converted.insert("type".to_owned(), kinds);
        }
        _ => return converted.into(),
    }
    if let Some(Value::Array(values)) = converted.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    converted.into()
}
