//! Arguments that arrive in pieces.
// L218

use std::collections::BTreeMap;

use pleach_core::Map;
use serde_json::Value;

use super::json_path::{self, Step};

/// The arguments of a call so far.
#[derive(Debug)]
pub(super) struct Arguments {
    values: Map,
    /// String values that may still grow, by path. They are inserted into `values` at the end, so that joining a long
    /// string takes linear time.
    texts: BTreeMap<String, String>,
    /// The number of array elements that may still be left empty.
    gaps: usize,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { values: Map::new(), texts: BTreeMap::new(), gaps: json_path::MAX_GAPS }
    }
}

impl Arguments {
    /// Takes over arguments that arrived whole.
    pub(super) fn extend(&mut self, whole: &Map) {
        self.values.extend(whole.clone());
    }

    /// Takes in one piece: `{"json_path", "string_value" | "number_value" | "bool_value" | "null_value"}`. A piece
    /// without a value or a path has no effect.
    pub(super) fn take(&mut self, piece: &Value) {
        let Some(path) = piece.get("json_path").and_then(Value::as_str).filter(|path| !path.is_empty()) else { return };
        if let Some(text) = piece.get("string_value").and_then(Value::as_str) {
            self.take_text(path, text);
            return;
        }
        let given = |key: &str| piece.get(key).filter(|value| !value.is_null());
        let value = match (given("number_value").or(given("bool_value")), given("null_value")) {
            (Some(value), _) => value.clone(),
            (None, Some(_)) => Value::Null,
            (None, None) => return,
        };
        self.texts.remove(path);
        json_path::set(&mut self.values, &json_path::parse(path), value, &mut self.gaps);
    }

    fn take_text(&mut self, path: &str, text: &str) {
        if let Some(open) = self.texts.get_mut(path) {
            open.push_str(text);
            return;
        }
        let steps: Vec<Step> = json_path::parse(path);
        let mut open = json_path::get(&self.values, &steps).and_then(Value::as_str).unwrap_or_default().to_owned();
        open.push_str(text);
        // Set the path to an empty string now, so that a later piece for a path below it is refused.
        json_path::set(&mut self.values, &steps, Value::String(String::new()), &mut self.gaps);
        self.texts.insert(path.to_owned(), open);
    }

    /// Returns the arguments.
    pub(super) fn finish(mut self) -> Map {
        for (path, text) in self.texts {
            json_path::set(&mut self.values, &json_path::parse(&path), Value::String(text), &mut self.gaps);
        }
        self.values
    }
}
