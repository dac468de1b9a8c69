//! [`Keys`]: renames properties whose names a provider refuses.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use pleach_core::Map;
use serde_json::{Value, json};

use super::keywords::for_each_subschema;
use super::standard::definition_of;

/// The maximum length of a new name.
const LONGEST: usize = 64;
/// The maximum number of schemas that are visited for the arguments of one call.
const MOST_LOOKS: usize = 1_000_000;

/// The renamed properties of a function. A new name differs from all other property names of the function. If arguments
/// may have arbitrary keys, nothing is renamed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Keys {
    /// The schema of the arguments, with the new names.
    schema: Value,
    /// The new names, by the function's own names.
    sent: BTreeMap<String, String>,
    /// The function's own names, by the new names.
    own: BTreeMap<String, String>,
}

impl Keys {
    /// Renames the properties of a schema and its definitions; `None` if there is nothing to rename.
    pub(crate) fn rename(schema: &mut Value, takes: fn(&str) -> bool) -> Option<Self> {
        let mut names = BTreeSet::new();
        each(schema, &mut |members| names.extend(properties(members).map(|(name, _)| name.clone())));
        let refused: Vec<String> = names.iter().filter(|name| !takes(name)).cloned().collect();
        if refused.is_empty() {
            return None;
        }
        let mut next = BTreeMap::new();
        let sent: BTreeMap<String, String> =
            refused.into_iter().map(|name| (name.clone(), free(&name, &mut names, &mut next))).collect();
        each(schema, &mut |members| rename_members(members, &sent));
        let own = sent.iter().map(|(own, sent)| (sent.clone(), own.clone())).collect();
        Some(Self { schema: schema.clone(), sent, own })
    }

    /// Renames properties in arguments to the provider's names.
    pub(crate) fn send(&self, arguments: &mut Map) {
        Walk { keys: self, direction: Direction::Send, left: MOST_LOOKS }.object(arguments, &[&self.schema]);
    }

    /// Renames properties in arguments to the function's names.
    pub(crate) fn restore(&self, arguments: &mut Map) {
        Walk { keys: self, direction: Direction::Restore, left: MOST_LOOKS }.object(arguments, &[&self.schema]);
    }

    /// Renames properties in the paths of pieces of arguments: `$.a_b[0]` becomes `$['a b'][0]`.
    pub(crate) fn restore_path(&self, path: &str) -> String {
        let mut restored = String::with_capacity(path.len());
        let mut rest = path;
        while let Some(start) = rest.find('.') {
            let (before, name) = rest.split_at(start + 1);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            match self.own.get(&name[..end]) {
                Some(own) => {
                    restored.push_str(before.trim_end_matches('.'));
                    restored.push_str(&format!("['{}']", own.replace('\\', "\\\\").replace('\'', "\\'")));
                }
                None => {
                    restored.push_str(before);
                    restored.push_str(&name[..end]);
                }
            }
            rest = &name[end..];
        }
        restored.push_str(rest);
        restored
    }
}

/// Calls `visit` with a schema and all schemas below it, including its definitions.
fn each(schema: &mut Value, visit: &mut dyn FnMut(&mut Map)) {
    let Value::Object(members) = schema else { return };
    if let Some(Value::Object(definitions)) = members.get_mut("$defs") {
        definitions.values_mut().for_each(|definition| each(definition, visit));
    }
    for_each_subschema(members, &mut |below| each(below, visit));
    visit(members);
}

fn properties(members: &Map) -> impl Iterator<Item = (&String, &Value)> {
    members.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// Returns a name that no property has, made of letters, digits and `_`.
fn free(name: &str, taken: &mut BTreeSet<String>, next: &mut BTreeMap<String, usize>) -> String {
    let plain: String = name.chars().take(LONGEST).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = match plain.trim_matches('_') {
        "" => "property",
        trimmed => trimmed,
    };
    let next = next.entry(plain.to_owned()).or_insert(1);
    loop {
        let suffix = if *next == 1 { String::new() } else { format!("_{next}") };
        *next += 1;
        let name = format!("{}{suffix}", &plain[..plain.len().min(LONGEST - suffix.len())]);
        if taken.insert(name.clone()) {
            return name;
        }
    }
}

fn rename_members(members: &mut Map, sent: &BTreeMap<String, String>) {
    for keyword in ["dependentRequired", "dependentSchemas", "properties"] {
        if let Some(Value::Object(named)) = members.get_mut(keyword) {
            let renamed: Vec<String> = named.keys().filter(|name| sent.contains_key(*name)).cloned().collect();
            for name in renamed {
                if let Some(value) = named.remove(&name) {
                    named.insert(sent[&name].clone(), value);
                }
            }
        }
    }
    let rename = |names: &mut Value| {
        for name in names.as_array_mut().into_iter().flatten() {
            if let Some(new) = name.as_str().and_then(|name| sent.get(name)) {
                *name = json!(new);
            }
        }
    };
    members.get_mut("required").into_iter().for_each(rename);
    let dependent = members.get_mut("dependentRequired").and_then(Value::as_object_mut);
    dependent.into_iter().flatten().for_each(|(_, names)| rename(names));
}

/// The direction of a conversion of arguments.
#[derive(Clone, Copy)]
enum Direction {
    /// To the provider.
    Send,
    /// To the function.
    Restore,
}

/// Walks over arguments along their schema.
struct Walk<'k> {
    keys: &'k Keys,
    direction: Direction,
    left: usize,
}

impl<'k> Walk<'k> {
    fn value(&mut self, value: &mut Value, schemas: &[&'k Value]) {
        match value {
            Value::Object(members) => self.object(members, schemas),
            Value::Array(items) => {
                let schemas = self.expand(schemas);
                for (index, item) in items.iter_mut().enumerate() {
                    let of_item = schemas.iter().flat_map(|schema| items_of(schema, index)).collect::<Vec<_>>();
                    self.value(item, &of_item);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, members: &mut Map, schemas: &[&'k Value]) {
        let schemas = self.expand(schemas);
        if schemas.is_empty() {
            return;
        }
        for (name, mut value) in std::mem::take(members) {
            let renamed =
                self.renamed(&name).filter(|(_, sent)| schemas.iter().any(|schema| property(schema, sent).is_some()));
            let sent = renamed.map_or(name.as_str(), |(_, sent)| sent);
            let of_member = schemas.iter().flat_map(|schema| member_of(schema, sent)).collect::<Vec<_>>();
            self.value(&mut value, &of_member);
            members.insert(renamed.map_or(name, |(new, _)| new.to_owned()), value);
        }
    }

    /// Returns the other name of a renamed property, and the provider's name.
    fn renamed(&self, name: &str) -> Option<(&'k str, &'k str)> {
        match self.direction {
            Direction::Send => self.keys.sent.get(name).map(|sent| (sent.as_str(), sent.as_str())),
            Direction::Restore => self.keys.own.get_key_value(name).map(|(sent, own)| (own.as_str(), sent.as_str())),
        }
    }

    /// Returns the schemas that may describe a value: these, and the schemas that they refer to or combine.
    fn expand(&mut self, schemas: &[&'k Value]) -> Vec<&'k Map> {
        let mut seen = HashSet::new();
        let mut waiting: Vec<&'k Value> = schemas.to_vec();
        let mut found = Vec::new();
        while let Some(schema) = waiting.pop() {
            let Some(members) = schema.as_object() else { continue };
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                return Vec::new();
            }
            if !seen.insert(std::ptr::from_ref(members)) {
                continue;
            }
            found.push(members);
            if let Some(name) = definition_of(members) {
                waiting.extend(self.keys.schema.get("$defs").and_then(|definitions| definitions.get(name)));
            }
            for keyword in ["allOf", "anyOf", "oneOf"] {
                waiting.extend(members.get(keyword).and_then(Value::as_array).into_iter().flatten());
            }
            waiting.extend(["if", "then", "else"].iter().filter_map(|keyword| members.get(*keyword)));
            let dependent = members.get("dependentSchemas").and_then(Value::as_object);
            waiting.extend(dependent.into_iter().flatten().map(|(_, schema)| schema));
        }
        found
    }
}

fn property<'k>(schema: &'k Map, name: &str) -> Option<&'k Value> {
    schema.get("properties")?.get(name)
}

/// Returns the schemas of a member of an object.
fn member_of<'k>(schema: &'k Map, name: &str) -> Vec<&'k Value> {
    if let Some(schema) = property(schema, name) {
        return vec![schema];
    }
    let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    let others = ["additionalProperties", "unevaluatedProperties"].iter().filter_map(|keyword| schema.get(*keyword));
    patterns.map(|(_, schema)| schema).chain(others).collect()
}

/// Returns the schemas of an item of a list.
fn items_of(schema: &Map, index: usize) -> Vec<&Value> {
    let prefix = schema.get("prefixItems").and_then(|items| items.get(index));
    let others = ["items", "contains", "unevaluatedItems"].iter().filter_map(|keyword| schema.get(*keyword));
    prefix.into_iter().chain(others).collect()
}
