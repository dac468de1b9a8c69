//! Makes the schema of a function's arguments one object with `properties`, as every provider demands.

use pleach_core::Map;
use serde_json::{Value, json};

use super::clean::has_type;
use super::standard::definition_of;
use super::{SchemaFault, Standard};

/// The maximum number of schemas that may be merged.
const MOST: usize = 512;
/// The keywords that a root may not have. Alternatives and the branches of a conditional are merged into the root.
const OF_BRANCHES: [&str; 9] = ["$ref", "allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf"];

/// Makes the root an object with `properties`.
///
/// Alternatives become one object with the properties of all of them. It requires a property only if every alternative
/// does. The schemas of `allOf` become one object as well. It requires a property if any of the schemas does.
///
/// # Errors
/// No value of the schema is an object, or there are too many alternatives.
pub(super) fn as_object(standard: &mut Standard) -> Result<(), SchemaFault> {
    let is_plain = !standard.schema.keys().any(|keyword| OF_BRANCHES.contains(&keyword.as_str()));
    if is_plain && standard.schema.contains_key("type") && !has_type(&standard.schema, "object") {
        return Err(SchemaFault::NoObject);
    }
    if !is_plain {
        let mut merger = Merger { definitions: &standard.definitions, following: Vec::new(), left: MOST };
        let object = merger.object(&standard.schema)?.ok_or(SchemaFault::NoObject)?;
        standard.schema = object.into_schema();
        standard.prune();
    }
    let schema = &mut standard.schema;
    schema.insert("type".to_owned(), json!("object"));
    let known = schema.entry("properties").or_insert_with(|| json!({}));
    let known: std::collections::HashSet<String> =
        known.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.retain(|name| name.as_str().is_some_and(|name| known.contains(name)));
    }
    Ok(())
}

/// The keywords of a schema that are about objects.
#[derive(Default)]
struct Object {
    properties: Map,
    required: Vec<String>,
    /// The other keywords.
    rest: Map,
}

struct Merger<'a> {
    definitions: &'a Map,
    /// The references that are being followed.
    following: Vec<&'a str>,
    /// The number of schemas that may still be merged.
    left: usize,
}

impl<'a> Merger<'a> {
    /// Returns the part of a schema about objects; `None` if it allows no object.
    fn object(&mut self, schema: &'a Map) -> Result<Option<Object>, SchemaFault> {
        self.left = self.left.checked_sub(1).ok_or(SchemaFault::TooManyAlternatives(MOST))?;
        let is_another = schema.contains_key("type") && !has_type(schema, "object");
        let has_objects = |values: &Value| values.as_array().is_none_or(|values| values.iter().any(Value::is_object));
        let lists_others = schema.get("enum").is_some_and(|values| !has_objects(values))
            || schema.get("const").is_some_and(|value| !value.is_object());
        if is_another || lists_others {
            return Ok(None);
        }
        let mut object = Object::of(schema);
        if let Some(name) = definition_of(schema)
            && !self.following.contains(&name)
            && let Some(Value::Object(target)) = self.definitions.get(name)
        {
            self.following.push(name);
            let target = self.object(target)?;
            self.following.pop();
            let Some(target) = target else { return Ok(None) };
            object.and(target);
        }
        for branch in list(schema, "allOf") {
            let Some(branch) = self.object(branch)? else { return Ok(None) };
            object.and(branch);
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches: Vec<&Map> = list(schema, keyword).collect();
            if branches.is_empty() {
                continue;
            }
            let mut alternatives = Vec::new();
            for branch in branches {
                alternatives.extend(self.object(branch)?);
            }
            let Some(any) = alternatives.into_iter().reduce(Object::or) else { return Ok(None) };
            object.and(any);
        }
        for keyword in ["then", "else"] {
            if let Some(Value::Object(branch)) = schema.get(keyword)
                && let Some(branch) = self.object(branch)?
            {
                object.and(Object { required: Vec::new(), rest: Map::new(), ..branch });
            }
        }
        Ok(Some(object))
    }
}

fn list<'a>(schema: &'a Map, keyword: &str) -> impl Iterator<Item = &'a Map> {
    schema.get(keyword).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

impl Object {
    /// Returns the keywords of a schema itself, without its branches.
    fn of(schema: &Map) -> Self {
        let mut object = Self::default();
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => object.properties.clone_from(properties),
                ("required", Value::Array(names)) => {
                    object.required = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                }
                (name, _) if OF_BRANCHES.contains(&name) || matches!(name, "then" | "type") => {}
                _ => drop(object.rest.insert(keyword.clone(), value.clone())),
            }
        }
        object
    }

    /// Merges with a schema that must hold as well.
    fn and(&mut self, other: Self) {
        let only_requires = other.properties.is_empty() && !other.rest.contains_key("additionalProperties");
        if !only_requires && self.rest.get("additionalProperties") != other.rest.get("additionalProperties") {
            self.rest.remove("additionalProperties");
        }
        let is_first = self.properties.is_empty() && self.rest.is_empty();
        for (keyword, value) in other.rest {
            if keyword != "additionalProperties" || is_first {
                self.rest.entry(keyword).or_insert(value);
            }
        }
        for (name, schema) in other.properties {
            let both = |one: Value| if one == schema { one } else { json!({"allOf": [one, schema]}) };
            let one = self.properties.remove(&name);
            let united = one.map_or_else(|| schema.clone(), both);
            self.properties.insert(name, united);
        }
        for name in other.required {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
    }

    /// Merges with an alternative.
    fn or(mut self, other: Self) -> Self {
        let is_closed = |object: &Self| object.rest.get("additionalProperties") == Some(&Value::Bool(false));
        let rest = Map::from_iter([("additionalProperties".to_owned(), json!(false))]);
        self.rest = if is_closed(&self) && is_closed(&other) { rest } else { Map::new() };
        for (name, schema) in other.properties {
            let united = match self.properties.remove(&name) {
                Some(one) => either(one, schema),
                None => schema,
            };
            self.properties.insert(name, united);
        }
        self.required.retain(|name| other.required.contains(name));
        self
    }

    fn into_schema(self) -> Map {
        let mut schema = self.rest;
        schema.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), json!(self.required));
        }
        schema
    }
}

/// Returns the schema of values that fit one schema or the other. Two fixed values of one type become an `enum`,
/// because a fixed value often distinguishes alternatives.
fn either(one: Value, other: Value) -> Value {
    if one == other {
        return one;
    }
    if let (Some((kind, mut values)), Some((other_kind, others))) = (fixed(&one), fixed(&other))
        && kind == other_kind
    {
        values.extend(others.into_iter().filter(|value| !list_has(&one, value)));
        let mut schema = Map::from_iter([("enum".to_owned(), json!(values))]);
        schema.extend(kind.map(|kind| ("type".to_owned(), kind.clone())));
        return schema.into();
    }
    let mut alternatives = match one {
        Value::Object(ref members) if members.len() == 1 && members.contains_key("anyOf") => {
            list_of(&one, "anyOf").cloned().collect()
        }
        one => vec![one],
    };
    if !alternatives.contains(&other) {
        alternatives.push(other);
    }
    json!({"anyOf": alternatives})
}

/// Returns the type and the values of a schema that has fixed values and nothing else.
fn fixed(schema: &Value) -> Option<(Option<&Value>, Vec<Value>)> {
    let members = schema.as_object()?;
    if !members.keys().all(|keyword| matches!(keyword.as_str(), "const" | "enum" | "type")) {
        return None;
    }
    let values = match (members.get("const"), members.get("enum")) {
        (Some(only), None) => vec![only.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => return None,
    };
    Some((members.get("type"), values))
}

fn list_has(schema: &Value, value: &Value) -> bool {
    schema.get("const") == Some(value) || list_of(schema, "enum").any(|listed| listed == value)
}

fn list_of<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(keyword).and_then(Value::as_array).into_iter().flatten()
}
