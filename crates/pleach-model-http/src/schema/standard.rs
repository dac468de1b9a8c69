//! [`Standard`]: converts a schema of any draft, with any fault, to JSON Schema 2020-12.

use pleach_core::Map;
use serde_json::{Value, json};

use super::SchemaFault;
use super::clean::{self, has_type};
use super::keywords::{LISTS, MAPS, SCHEMAS, SWITCHES, subschemas};
use super::targets::{Scope, Targets};

/// The maximum depth of a schema. JSON that was parsed is never deeper.
const DEEPEST: usize = 128;
/// The maximum size of a schema: the bytes of its strings, and 8 for each value. It is ten times the size of the
/// largest schemas of published servers.
const LARGEST: usize = 4 << 20;
/// Keywords that describe the schema itself, or that are handled elsewhere.
pub(super) const DROPPED: [&str; 15] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$schema",
    "$vocabulary",
    "components",
    "definitions",
    "id",
    "nullable",
];
/// The keywords that are kept next to a reference, for drafts that ignore all other keywords there.
const NOTES: [&str; 5] = ["default", "deprecated", "description", "examples", "title"];

/// A schema of JSON Schema 2020-12. Each reference has the form `#/$defs/<name>` and leads to a definition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standard {
    /// The schema without its definitions.
    pub(crate) schema: Map,
    pub(crate) definitions: Map,
    /// The keywords that were left out.
    pub(crate) losses: Vec<String>,
}

impl Standard {
    /// Converts a schema. The work is limited, even for hostile schemas.
    ///
    /// # Errors
    /// The schema is too large or too deep.
    pub(crate) fn of(schema: &Value) -> Result<Self, SchemaFault> {
        measure(schema)?;
        let is_old = schema.get("$schema").and_then(Value::as_str).is_some_and(|draft| draft.contains("/draft-0"));
        let mut converter = Converter { targets: Targets::new(schema), is_old, left: 2 * LARGEST, losses: Vec::new() };
        let converted = converter.schema(schema, Scope::of_root(schema))?;
        let mut definitions = Map::new();
        while let Some((name, target, scope)) = converter.targets.next() {
            definitions.insert(name, converter.schema(target, scope)?.into());
        }
        Ok(Self { schema: converted, definitions, losses: converter.losses })
    }

    /// Returns the schema with its definitions.
    pub(crate) fn into_value(self) -> Value {
        let mut schema = self.schema;
        if !self.definitions.is_empty() {
            schema.insert("$defs".to_owned(), self.definitions.into());
        }
        schema.into()
    }

    /// Removes definitions without references.
    pub(super) fn prune(&mut self) {
        let mut used: Vec<&str> = Vec::new();
        let mut waiting: Vec<&Map> = vec![&self.schema];
        let mut reached = std::collections::HashSet::new();
        while let Some(schema) = waiting.pop() {
            if let Some(name) = definition_of(schema)
                && reached.insert(name)
            {
                used.push(name);
                waiting.extend(self.definitions.get(name).and_then(Value::as_object));
            }
            waiting.extend(subschemas(schema).into_iter().filter_map(Value::as_object));
        }
        let used: std::collections::HashSet<String> = used.into_iter().map(str::to_owned).collect();
        self.definitions.retain(|name, _| used.contains(name));
    }
}

/// Returns the name of the definition that a standard schema refers to.
pub(super) fn definition_of(schema: &Map) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// Checks the depth and the size without recursion.
fn measure(schema: &Value) -> Result<(), SchemaFault> {
    let mut waiting = vec![(schema, 0)];
    let mut bytes = 0_usize;
    while let Some((value, depth)) = waiting.pop() {
        if depth > DEEPEST {
            return Err(SchemaFault::TooDeep(DEEPEST));
        }
        bytes = bytes.saturating_add(8);
        match value {
            Value::String(text) => bytes = bytes.saturating_add(text.len()),
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                bytes = bytes.saturating_add(members.keys().map(String::len).sum());
                waiting.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
        if bytes > LARGEST {
            return Err(SchemaFault::TooLarge(LARGEST));
        }
    }
    Ok(())
}

struct Converter<'a> {
    targets: Targets<'a>,
    /// Whether the draft ignores keywords next to a reference.
    is_old: bool,
    /// The number of bytes that may still be written. The target of a reference is written to the definitions in
    /// addition to its place in the schema.
    left: usize,
    losses: Vec<String>,
}

impl<'a> Converter<'a> {
    fn schema(&mut self, schema: &'a Value, scope: Scope<'a>) -> Result<Map, SchemaFault> {
        self.spend(8)?;
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(false) => return Ok(Map::from_iter([("not".to_owned(), json!({}))])),
            Value::Bool(true) | Value::Null => return Ok(Map::new()),
            Value::String(name) => return Ok(self.named_type(name)),
            _ => {
                self.lose("a value that is no schema");
                return Ok(Map::new());
            }
        };
        let scope = scope.inside(schema);
        let mut converted = self.keywords(members, scope)?;
        clean::bounds(members, &mut converted);
        tuple(members, &mut converted);
        match self.targets.target(members, scope) {
            Some(Ok(name)) => {
                converted.retain(|keyword, _| !self.is_old || NOTES.contains(&keyword.as_str()));
                converted.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
            }
            Some(Err(reference)) => self.lose(&format!("the reference `{reference}`, which leads to nothing")),
            None => {}
        }
        if members.get("nullable") == Some(&Value::Bool(true)) {
            converted = clean::nullable(converted);
        }
        // Providers demand a schema for the items of a list.
        let says_items = ["items", "prefixItems", "$ref"].iter().any(|keyword| converted.contains_key(*keyword));
        if has_type(&converted, "array") && !says_items {
            converted.insert("items".to_owned(), json!({}));
        }
        Ok(converted)
    }

    /// Converts a schema that is only the name of a type.
    fn named_type(&mut self, name: &str) -> Map {
        match clean::type_name(name) {
            Some("array") => Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), json!({}))]),
            Some(name) => Map::from_iter([("type".to_owned(), json!(name))]),
            None => {
                self.lose("a text that is no schema");
                Map::new()
            }
        }
    }

    fn keywords(&mut self, members: &'a Map, scope: Scope<'a>) -> Result<Map, SchemaFault> {
        let mut converted = Map::new();
        for (keyword, value) in members {
            let name = keyword.as_str();
            if DROPPED.contains(&name) || name.starts_with("x-") {
                continue;
            }
            let (name, of_keyword) = match (name, value) {
                ("items", Value::Array(_)) => ("prefixItems", self.list(value, scope)?),
                ("additionalItems", _) => match (members.get("items"), value) {
                    (Some(Value::Array(_)), Value::Object(_)) => ("items", Some(self.schema(value, scope)?.into())),
                    _ => continue,
                },
                ("items", Value::Bool(false)) => continue,
                (_, Value::Bool(_)) if SWITCHES.contains(&name) => (name, Some(value.clone())),
                (_, Value::Null) if SCHEMAS.contains(&name) => continue,
                _ if SCHEMAS.contains(&name) => (name, Some(self.schema(value, scope)?.into())),
                _ if LISTS.contains(&name) => (name, self.list(value, scope)?),
                _ if MAPS.contains(&name) => (name, self.map(name, value, scope)?),
                ("dependencies", _) => {
                    self.dependencies(value, &mut converted, scope)?;
                    continue;
                }
                ("required", _) => continue,
                ("divisibleBy", _) => ("multipleOf", clean::value("multipleOf", value)),
                _ => (name, clean::value(name, value)),
            };
            if let Some(of_keyword) = of_keyword {
                self.spend(8 + name.len() + size_of(name, &of_keyword))?;
                converted.insert(name.to_owned(), of_keyword);
            }
        }
        if let Some(required) = required(members) {
            converted.insert("required".to_owned(), required);
        }
        Ok(converted)
    }

    fn list(&mut self, value: &'a Value, scope: Scope<'a>) -> Result<Option<Value>, SchemaFault> {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            Value::Object(_) => std::slice::from_ref(value),
            _ => return Ok(None),
        };
        let schemas = items.iter().map(|item| self.schema(item, scope).map(Value::from));
        let schemas = schemas.collect::<Result<Vec<_>, _>>()?;
        Ok((!schemas.is_empty()).then_some(Value::Array(schemas)))
    }

    fn map(&mut self, keyword: &str, value: &'a Value, scope: Scope<'a>) -> Result<Option<Value>, SchemaFault> {
        let named = match value {
            Value::Object(named) => named,
            Value::Null => return Ok(None),
            // PHP writes an empty object like this.
            Value::Array(items) if items.is_empty() => return Ok(Some(json!({}))),
            _ => {
                self.lose(&format!("`{keyword}`, which is no object"));
                return Ok(None);
            }
        };
        let mut schemas = Map::new();
        for (name, schema) in named {
            self.spend(name.len())?;
            schemas.insert(name.clone(), self.schema(schema, scope)?.into());
        }
        Ok(Some(schemas.into()))
    }

    /// Splits the `dependencies` of drafts up to 7 into two keywords.
    fn dependencies(&mut self, value: &'a Value, converted: &mut Map, scope: Scope<'a>) -> Result<(), SchemaFault> {
        let (mut names, mut schemas) = (Map::new(), Map::new());
        for (name, dependency) in value.as_object().into_iter().flatten() {
            self.spend(8 + name.len() + size_of("", dependency))?;
            match dependency {
                Value::Array(_) => names.extend(clean::names(dependency).map(|listed| (name.clone(), listed))),
                Value::String(_) => drop(names.insert(name.clone(), json!([dependency]))),
                schema => drop(schemas.insert(name.clone(), self.schema(schema, scope)?.into())),
            }
        }
        for (keyword, map) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
            if !map.is_empty() {
                converted.insert(keyword.to_owned(), map.into());
            }
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), SchemaFault> {
        self.left = self.left.checked_sub(bytes).ok_or(SchemaFault::TooLarge(LARGEST))?;
        Ok(())
    }

    fn lose(&mut self, what: &str) {
        // A few names are enough to find the fault.
        if self.losses.len() < 5 {
            self.losses.push(what.to_owned());
        }
    }
}

/// Returns the size of a keyword's value, or 0 for a schema, which has been counted already.
fn size_of(keyword: &str, value: &Value) -> usize {
    if SCHEMAS.contains(&keyword) || LISTS.contains(&keyword) || MAPS.contains(&keyword) {
        return 0;
    }
    match value {
        Value::String(text) => 8 + text.len(),
        Value::Array(items) => 8 + items.iter().map(|item| size_of("", item)).sum::<usize>(),
        Value::Object(members) => {
            8 + members.iter().map(|(name, member)| name.len() + size_of("", member)).sum::<usize>()
        }
        _ => 8,
    }
}

/// Returns the required names of an object: the names in its list and, as in draft 3, the properties that have
/// `required: true`. Names of unknown properties are left out if all properties are known.
fn required(members: &Map) -> Option<Value> {
    let properties = members.get("properties").and_then(Value::as_object);
    let is_known = |name: &str| {
        let combines = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| members.contains_key(*keyword));
        properties.is_none_or(|properties| combines || properties.contains_key(name))
    };
    let listed = members.get("required").and_then(Value::as_array);
    let names = listed.into_iter().flatten().filter_map(Value::as_str).filter(|name| is_known(name));
    let marked =
        properties.into_iter().flatten().filter(|(_, schema)| schema.get("required") == Some(&Value::Bool(true)));
    let mut unique: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    unique.extend(names.chain(marked.map(|(name, _)| name.as_str())).filter(|name| seen.insert(*name)));
    (listed.is_some() || !unique.is_empty()).then(|| json!(unique))
}

/// Limits the length of a list to its items with schemas of their own, if it allows no others.
fn tuple(members: &Map, converted: &mut Map) {
    let items = members.get("items");
    let is_closed = items == Some(&Value::Bool(false))
        || (items.is_some_and(Value::is_array) && members.get("additionalItems") == Some(&Value::Bool(false)));
    if is_closed {
        let known = converted.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        let limit = converted.get("maxItems").and_then(Value::as_u64).map_or(known as u64, |max| max.min(known as u64));
        converted.insert("maxItems".to_owned(), json!(limit));
    }
}
