//! Bounds on the work that a schema causes. They are checked before the validator runs, because schemas come from
//! stored and possibly hostile text.

use std::collections::HashMap;

use serde_json::Value;

/// The largest number of JSON values in a schema.
const MAX_VALUES: usize = 20_000;
/// The largest number of schemas that may apply to one value one inside the other, through `allOf`, `$ref` and similar
/// keywords.
const MAX_CHAIN: usize = 48;
/// The largest number of schemas that may apply to one value in total.
const MAX_VISITS: usize = 5_000;
/// The largest number of times that schemas may be applied while a fault is described.
const MAX_DESCRIBED: usize = 20_000;
/// The greatest depth of schemas and answers, because no backend stores deeper ones.
const MAX_DEPTH: usize = 127;

/// Keywords whose value is a schema for the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords whose value is a list of schemas for the same value.
const SAME_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords that make a schema depend on more than its own text, or on names that are resolved at run time.
const UNSUPPORTED: [&str; 5] = ["$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$anchor", "$id"];

/// Returns the length of the longest chain of schemas that apply to one value.
///
/// # Errors
/// Returns the reason why the schema is not evaluated: it is too large, applies itself to the same value without
/// end, or refers to something other than its own parts by JSON pointer.
pub(crate) fn chain_of(schema: &Value) -> Result<usize, String> {
    if depth_of(schema) > MAX_DEPTH {
        return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
    }
    let mut walk = Walk { root: schema, known: HashMap::new() };
    let (mut longest, mut values) = (0, 0);
    let mut next = vec![schema];
    while let Some(value) = next.pop() {
        values += 1;
        if values > MAX_VALUES {
            return Err(format!("it has more than {MAX_VALUES} values"));
        }
        match value {
            Value::Array(items) => next.extend(items),
            Value::Object(map) => {
                if let Some(keyword) =
                    UNSUPPORTED.iter().find(|keyword| map.get(**keyword).is_some_and(Value::is_string))
                {
                    return Err(format!("it uses `{keyword}`"));
                }
                let cost = walk.cost(value, 0).ok_or(
                    "a `$ref` does not lead to one of its own parts, or leads back to itself, or too many schemas apply to one value",
                )?;
                longest = longest.max(cost.chain);
                next.extend(map.values());
            }
            _ => {}
        }
    }
    Ok(longest)
}

/// Returns the depth of a value. Counting stops once the limit is exceeded.
pub(crate) fn depth_of(value: &Value) -> usize {
    let mut depth = 0;
    let mut level: Vec<&Value> = vec![value];
    while !level.is_empty() && depth <= MAX_DEPTH {
        depth += 1;
        level = level.into_iter().flat_map(children).collect();
    }
    depth
}

pub(crate) fn is_too_deep(value: &Value) -> bool {
    depth_of(value) > MAX_DEPTH
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => Box::new(std::iter::empty()),
    }
}

#[derive(Clone, Copy)]
struct Cost {
    chain: usize,
    visits: usize,
}

struct Walk<'a> {
    root: &'a Value,
    /// Keyed by the schema's address, which does not move; `None` while it is being visited.
    known: HashMap<*const Value, Option<Cost>>,
}

impl<'a> Walk<'a> {
    fn cost(&mut self, schema: &'a Value, above: usize) -> Option<Cost> {
        if above > MAX_CHAIN {
            return None;
        }
        let address: *const Value = schema;
        if let Some(known) = self.known.get(&address) {
            // A schema without a result is still being visited, so it applies itself to the same value.
            return *known;
        }
        self.known.insert(address, None);
        let mut cost = Cost { chain: 0, visits: 1 };
        for part in self.applied_to_the_same_value(schema)? {
            let part = self.cost(part, above + 1)?;
            cost.chain = cost.chain.max(part.chain);
            cost.visits = cost.visits.saturating_add(part.visits);
        }
        cost.chain += 1;
        if cost.chain > MAX_CHAIN || cost.visits > MAX_VISITS {
            return None;
        }
        self.known.insert(address, Some(cost));
        Some(cost)
    }

    fn applied_to_the_same_value(&self, schema: &'a Value) -> Option<Vec<&'a Value>> {
        let Value::Object(map) = schema else { return Some(Vec::new()) };
        let mut parts: Vec<&Value> = SAME.iter().filter_map(|keyword| map.get(*keyword)).collect();
        parts.extend(SAME_LISTS.iter().filter_map(|keyword| map.get(*keyword)?.as_array()).flatten());
        parts.extend(map.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(|all| all.values()));
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            parts.push(resolve(self.root, reference)?);
        }
        Some(parts)
    }
}

/// Returns `true` if describing a fault takes few steps. All alternatives of a value are described. So a recursive
/// schema may describe one value once for each path to it, and the number of paths grows exponentially with the depth.
pub(crate) fn is_cheap_to_describe(schema: &Value, answer: &Value) -> bool {
    let mut ways = Ways { walk: Walk { root: schema, known: HashMap::new() }, known: HashMap::new() };
    ways.count(schema, answer).is_some_and(|count| count <= MAX_DESCRIBED)
}

/// Counts how often schemas are applied to the parts of a value.
struct Ways<'a> {
    walk: Walk<'a>,
    /// Keyed by the addresses of schema and value, which do not move.
    known: HashMap<(*const Value, *const Value), usize>,
}

impl<'a> Ways<'a> {
    /// Returns the count; `None` if counting itself takes too long.
    fn count(&mut self, schema: &'a Value, value: &'a Value) -> Option<usize> {
        let key: (*const Value, *const Value) = (schema, value);
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let mut count = 1_usize;
        for part in self.walk.applied_to_the_same_value(schema)? {
            count = count.saturating_add(self.count(part, value)?);
        }
        for (part, child) in applied_to_children(schema, value) {
            count = count.saturating_add(self.count(part, child)?);
        }
        self.known.insert(key, count);
        (self.known.len() <= MAX_DESCRIBED).then_some(count)
    }
}

/// Returns the schemas for the parts of a value. It includes at least those that apply.
fn applied_to_children<'a>(schema: &'a Value, value: &'a Value) -> Vec<(&'a Value, &'a Value)> {
    let named = |keyword: &str, name: &str| schema.get(keyword).and_then(|all| all.get(name));
    let placed = |keyword: &str, place: usize| schema.get(keyword).and_then(|all| all.get(place));
    let all = |keywords: &'static [&'static str]| keywords.iter().filter_map(|keyword| schema.get(*keyword));
    let mut pairs = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                let patterns = schema.get("patternProperties").and_then(Value::as_object);
                let patterns = patterns.into_iter().flat_map(|all| all.values());
                let rest = all(&["additionalProperties", "unevaluatedProperties"]);
                let parts = named("properties", key).into_iter().chain(patterns).chain(rest);
                pairs.extend(parts.map(|part| (part, child)));
            }
        }
        Value::Array(items) => {
            for (place, child) in items.iter().enumerate() {
                let own = placed("prefixItems", place).into_iter().chain(placed("items", place));
                let parts = own.chain(all(&["items", "additionalItems", "unevaluatedItems", "contains"]));
                pairs.extend(parts.map(|part| (part, child)));
            }
        }
        _ => {}
    }
    pairs
}

/// Finds a part of a schema by a reference such as `#/$defs/Item`. Other kinds of references are not resolved.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    // A percent sign would start another kind of escape.
    if pointer.contains('%') { None } else { root.pointer(pointer) }
}
