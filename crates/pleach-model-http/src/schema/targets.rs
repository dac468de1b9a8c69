//! [`Targets`]: the schemas that references lead to, and their names in `$defs`.

use std::collections::{HashMap, HashSet, VecDeque};

use percent_encoding::percent_decode_str;
use pleach_core::Map;
use serde_json::Value;

use super::keywords::{LISTS, MAPS, SCHEMAS};

/// The maximum length of a chain of references.
const LONGEST_CHAIN: usize = 32;
/// The maximum length of a name in `$defs`.
const LONGEST_NAME: usize = 64;

/// The enclosing schemas that the references of a schema are relative to.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The nearest schema with an `$id`, or the root.
    base: &'a Value,
    /// The nearest schema with `$recursiveAnchor`, or the base.
    recursive: &'a Value,
}

impl<'a> Scope<'a> {
    pub(super) fn of_root(root: &'a Value) -> Self {
        Self { base: root, recursive: root }
    }

    /// Returns the scope inside a schema.
    pub(super) fn inside(self, schema: &'a Value) -> Self {
        let has_id = id_of(schema).is_some_and(|id| !id.starts_with('#'));
        let scope = if has_id { Self { base: schema, recursive: schema } } else { self };
        match schema.get("$recursiveAnchor") {
            Some(Value::Bool(true)) => Self { recursive: schema, ..scope },
            _ => scope,
        }
    }
}

/// The places that references of a schema lead to. Each place has one name, however many references lead there.
pub(super) struct Targets<'a> {
    root: &'a Value,
    /// The names by the address of the schema. Addresses are stable, because the schemas stay borrowed.
    names: HashMap<usize, String>,
    taken: HashSet<String>,
    /// The next number for each name that is taken.
    next: HashMap<String, usize>,
    waiting: VecDeque<(String, &'a Value, Scope<'a>)>,
    /// The named schemas. They are searched for when a reference first needs them.
    named: Option<Named<'a>>,
}

/// The schemas that have names of their own.
#[derive(Default)]
struct Named<'a> {
    /// `$anchor` and `$dynamicAnchor`.
    anchors: HashMap<&'a str, &'a Value>,
    /// `$id`.
    ids: HashMap<&'a str, &'a Value>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            root,
            names: HashMap::new(),
            taken: HashSet::new(),
            next: HashMap::new(),
            waiting: VecDeque::new(),
            named: None,
        }
    }

    /// Returns the next named target that must be converted.
    pub(super) fn next(&mut self) -> Option<(String, &'a Value, Scope<'a>)> {
        self.waiting.pop_front()
    }

    /// Returns the name of the schema that a schema refers to.
    ///
    /// # Errors
    /// The reference leads to nothing, to another document or to itself.
    pub(super) fn target(&mut self, members: &'a Map, scope: Scope<'a>) -> Option<Result<String, String>> {
        let (keyword, reference) = referring(members)?;
        let found = match keyword {
            "$recursiveRef" => Some((scope.recursive, scope)),
            _ => self.resolve(reference, scope),
        };
        Some(match found.filter(|(target, base)| self.ends(target, *base)) {
            Some((target, base)) => Ok(self.name(target, reference, base)),
            None => Err(reference.chars().take(100).collect()),
        })
    }

    /// Returns true if a chain of references has an end.
    fn ends(&mut self, target: &'a Value, scope: Scope<'a>) -> bool {
        let (mut target, mut scope) = (target, scope);
        for _ in 0..LONGEST_CHAIN {
            let Some(members) = target.as_object() else { return true };
            match referring(members) {
                Some((_, reference)) if members.len() == 1 => match self.resolve(reference, scope) {
                    Some((next, base)) => (target, scope) = (next, base),
                    // This chain ends; the other reference reports the missing target.
                    None => return true,
                },
                _ => return true,
            }
        }
        false
    }

    /// Returns the target of a reference, and the scope there.
    fn resolve(&mut self, reference: &str, scope: Scope<'a>) -> Option<(&'a Value, Scope<'a>)> {
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let of = |value: &'a Value| Scope { base: value, recursive: value };
        let base = match resource {
            "" => scope,
            id if id_of(self.root).is_some_and(|root| root.trim_end_matches('#') == id) => of(self.root),
            id => of(self.named().ids.get(id).copied()?),
        };
        if fragment.is_empty() {
            return Some((base.base, base));
        }
        if !fragment.starts_with('/') {
            let found = self.named().anchors.get(fragment).copied()?;
            return Some((found, base));
        }
        let decoded = percent_decode_str(fragment).decode_utf8().ok()?;
        let found =
            |base: Scope<'a>| Some((base.base.pointer(fragment).or_else(|| base.base.pointer(&decoded))?, base));
        // Pointers in a schema with an `$id` are often meant for the whole document.
        found(base).or_else(|| found(of(self.root)))
    }

    fn named(&mut self) -> &Named<'a> {
        let root = self.root;
        self.named.get_or_insert_with(|| {
            let mut named = Named::default();
            named.find(root);
            named
        })
    }

    fn name(&mut self, target: &'a Value, reference: &str, scope: Scope<'a>) -> String {
        let address = std::ptr::from_ref(target) as usize;
        if let Some(name) = self.names.get(&address) {
            return name.clone();
        }
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let decoded = percent_decode_str(last).decode_utf8_lossy().replace("~1", "/").replace("~0", "~");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let plain: String = decoded.chars().take(LONGEST_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
        let plain = if plain.is_empty() { "Root".to_owned() } else { plain };
        let next = self.next.entry(plain.clone()).or_insert(1);
        let name = loop {
            let suffix = if *next == 1 { String::new() } else { format!("_{next}") };
            *next += 1;
            let name = format!("{}{suffix}", &plain[..plain.len().min(LONGEST_NAME - suffix.len())]);
            if self.taken.insert(name.clone()) {
                break name;
            }
        };
        self.names.insert(address, name.clone());
        self.waiting.push_back((name.clone(), target, scope));
        name
    }
}

impl<'a> Named<'a> {
    /// Finds the names of a schema and of the schemas below it. The depth was limited before.
    fn find(&mut self, schema: &'a Value) {
        let Some(members) = schema.as_object() else { return };
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(anchor)) = members.get(keyword) {
                self.anchors.entry(anchor).or_insert(schema);
            }
        }
        match id_of(schema) {
            // Before draft 2019-09 an anchor was an id.
            Some(id) if id.starts_with('#') => drop(self.anchors.entry(&id[1..]).or_insert(schema)),
            Some(id) => drop(self.ids.entry(id.trim_end_matches('#')).or_insert(schema)),
            None => {}
        }
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("items" | "additionalItems", Value::Array(items)) => items.iter().for_each(|item| self.find(item)),
                (name, Value::Array(items)) if LISTS.contains(&name) => items.iter().for_each(|item| self.find(item)),
                (name, value) if SCHEMAS.contains(&name) => self.find(value),
                (name, Value::Object(named)) if MAPS.contains(&name) || matches!(name, "$defs" | "definitions") => {
                    named.values().for_each(|schema| self.find(schema));
                }
                _ => {}
            }
        }
    }
}

/// Returns the keyword with which a schema refers to another schema, and the reference. `$dynamicRef` and
/// `$recursiveRef` are treated like `$ref`, because there is only one document.
fn referring(members: &Map) -> Option<(&'static str, &str)> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .iter()
        .find_map(|keyword| Some((*keyword, members.get(*keyword)?.as_str()?)))
}

fn id_of(schema: &Value) -> Option<&str> {
    ["$id", "id"].iter().find_map(|keyword| schema.get(*keyword)?.as_str())
}
