//! Finds fields that a strict schema cannot describe: maps, values of any type, and tuples. For a map, for example, a
//! model could only answer with an empty object.

use std::collections::HashSet;
use std::fmt;

use pleach_core::Map;
use serde_json::Value;

use crate::schema::{SchemaFault, Standard, has_type};

/// The maximum numbers of faults that are found and shown.
const MOST: usize = 20;
const SHOWN: usize = 5;

/// A field of an answer that a strict schema cannot describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShapeFault {
    /// The path of the field, such as `places[].tags`. It is empty for the answer itself.
    path: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Map,
    Any,
    Tuple,
    Schema(SchemaFault),
}

impl ShapeFault {
    /// Creates the fault for a schema that cannot be read.
    pub(super) fn of_schema(fault: SchemaFault) -> Self {
        Self { path: String::new(), kind: Kind::Schema(fault) }
    }
}

/// Shows the path and the kind of the field: `` `places[].tags` (a map) ``.
impl fmt::Display for ShapeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str("the answer itself")?,
            path => write!(f, "`{path}`")?,
        }
        match &self.kind {
            Kind::Map => f.write_str(" (a map)"),
            Kind::Any => f.write_str(" (any value)"),
            Kind::Tuple => f.write_str(" (a tuple)"),
            Kind::Schema(fault) => write!(f, " ({fault})"),
        }
    }
}

/// Returns the text of an error about such fields.
pub(super) fn describe(faults: &[ShapeFault]) -> String {
    let shown: Vec<String> = faults.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = match faults.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "a strict answer cannot have {}{more}: name every field and give it a type, for example a list of structs for a map",
        shown.join(", ")
    )
}

/// Returns the fields that a strict schema cannot describe.
pub(super) fn check(standard: &Standard) -> Vec<ShapeFault> {
    let mut check = Check { definitions: &standard.definitions, seen: HashSet::new(), faults: Vec::new() };
    check.schema(&standard.schema, "");
    check.faults
}

struct Check<'a> {
    definitions: &'a Map,
    /// The definitions that were checked, with the first path that leads to each.
    seen: HashSet<&'a str>,
    faults: Vec<ShapeFault>,
}

impl<'a> Check<'a> {
    fn schema(&mut self, schema: &'a Map, path: &str) {
        if let Some(Value::String(reference)) = schema.get("$ref") {
            let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
            if let Some(Value::Object(definition)) = self.definitions.get(name)
                && self.seen.insert(name)
            {
                self.schema(definition, path);
            }
            return;
        }
        let branches: Vec<&Map> = ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|keyword| schema.get(*keyword)?.as_array())
            .flatten()
            .filter_map(Value::as_object)
            .collect();
        for branch in &branches {
            self.schema(branch, path);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        if has_type(schema, "object") || properties.is_some() || schema.contains_key("additionalProperties") {
            let names = properties.is_some() || !branches.is_empty();
            self.object(schema, names, path);
        }
        for (name, property) in properties.into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            property.as_object().into_iter().for_each(|property| self.schema(property, &path));
        }
        if schema.contains_key("prefixItems") {
            return self.add(path, Kind::Tuple);
        }
        if let Some(Value::Object(items)) = schema.get("items") {
            self.schema(items, &format!("{path}[]"));
        }
        const SHAPES: [&str; 6] = ["additionalProperties", "const", "enum", "items", "not", "type"];
        let says_nothing =
            branches.is_empty() && properties.is_none() && !SHAPES.iter().any(|keyword| schema.contains_key(*keyword));
        if says_nothing && !schema.contains_key("patternProperties") {
            self.add(path, Kind::Any);
        }
    }

    fn object(&mut self, schema: &Map, names_fields: bool, path: &str) {
        let others = schema.get("additionalProperties");
        let is_closed = others == Some(&Value::Bool(false));
        let is_open = others.is_some() && !is_closed;
        let has_patterns =
            schema.get("patternProperties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        if is_open || has_patterns || (!names_fields && !is_closed) {
            self.add(path, Kind::Map);
        }
    }

    fn add(&mut self, path: &str, kind: Kind) {
        let fault = ShapeFault { path: path.to_owned(), kind };
        if self.faults.len() < MOST && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}
