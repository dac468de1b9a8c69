//! The differences between a recorded and an actual trace.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::dumps::{Style, dumps};
use super::{Errors, Order, clean, normalise};

/// The maximum number of differences that are listed.
const LIMIT: usize = 12;

/// The number of characters of a value that a difference shows.
const SHOWN: usize = 300;

/// The relative tolerance between floats (rule N4).
const TOLERANCE: f64 = 1e-9;

const ABSENT: &str = "(absent)";

/// One place at which two traces differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path of the place, for example `$.turns[0].yielded[2].author`.
    pub path: String,
    /// The value in the recording, shortened.
    pub golden: String,
    /// The value in the actual trace, shortened.
    pub actual: String,
}

/// Compares a golden file with a raw trace. Returns an empty list if they are equal.
///
/// `golden` is the whole golden file, including the options of the comparison. `actual` is a trace,
/// or an object with a trace under `trace`. At most twelve differences are returned.
pub fn compare(golden: &Value, actual: &Value) -> Vec<Difference> {
    let order = match golden.get("compare").and_then(Value::as_str) {
        Some("per_node") => Order::PerNode,
        _ => Order::Ordered,
    };
    let errors = match golden.get("errors").and_then(Value::as_str) {
        Some("type") => Errors::Type,
        _ => Errors::Full,
    };
    let mut expected = golden.get("trace").cloned().unwrap_or_default();
    clean::sort_named_ids(&mut expected);
    let mut found = Finder::default();
    match normalise(actual.get("trace").unwrap_or(actual), order, errors) {
        Ok(actual) => found.values("$", &expected, &actual),
        Err(malformed) => found.add("$", "a well formed trace", &malformed.to_string()),
    }
    found.differences
}

/// Lists the differences of two traces in the normal form, at most twelve.
pub fn differences(golden: &Value, actual: &Value) -> Vec<Difference> {
    let mut found = Finder::default();
    found.values("$", golden, actual);
    found.differences
}

#[derive(Default)]
struct Finder {
    differences: Vec<Difference>,
}

impl Finder {
    fn is_full(&self) -> bool {
        self.differences.len() >= LIMIT
    }

    fn add(&mut self, path: &str, golden: &str, actual: &str) {
        if !self.is_full() {
            self.differences.push(Difference {
                path: path.to_owned(),
                golden: golden.to_owned(),
                actual: actual.to_owned(),
            });
        }
    }

    fn values(&mut self, path: &str, golden: &Value, actual: &Value) {
        if self.is_full() || same(golden, actual) {
            return;
        }
        match (golden, actual) {
            (Value::Object(g), Value::Object(a)) => self.objects(path, g, a),
            (Value::Array(g), Value::Array(a)) => self.lists(path, g, a),
            _ => self.add(path, &short(golden), &short(actual)),
        }
    }

    /// Compares turns before stored sessions, because the yielded events explain the stored ones.
    fn objects(&mut self, path: &str, golden: &Map<String, Value>, actual: &Map<String, Value>) {
        let keys: BTreeSet<&String> = golden.keys().chain(actual.keys()).collect();
        let (first, rest): (Vec<&String>, Vec<&String>) =
            keys.into_iter().partition(|key| *key == "turns" || *key == "construction_error");
        for key in first.into_iter().rev().chain(rest) {
            self.pair(&format!("{path}.{key}"), golden.get(key), actual.get(key));
        }
    }

    fn lists(&mut self, path: &str, golden: &[Value], actual: &[Value]) {
        for index in 0..golden.len().max(actual.len()) {
            self.pair(&format!("{path}[{index}]"), golden.get(index), actual.get(index));
        }
    }

    fn pair(&mut self, path: &str, golden: Option<&Value>, actual: Option<&Value>) {
        match (golden, actual) {
            (Some(golden), Some(actual)) => self.values(path, golden, actual),
            (Some(golden), None) => self.add(path, &short(golden), ABSENT),
            (None, Some(actual)) => self.add(path, ABSENT, &short(actual)),
            (None, None) => {}
        }
    }
}

/// Returns true if two values are equal by rule N4: numbers by value and with tolerance; `true` is not 1.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_f64(), y.as_f64()) {
            _ if x == y => true,
            (Some(x), Some(y)) => (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()),
            _ => false,
        },
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

fn short(value: &Value) -> String {
    let text = dumps(value, Style::READABLE);
    if text.chars().count() <= SHOWN {
        return text;
    }
    let shown: String = text.chars().take(SHOWN - 1).collect();
    shown + "…"
}
