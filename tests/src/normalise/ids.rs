//! Rule N2: generated ids become numbered names.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Order;

/// Lengths of the hexadecimal groups of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The longest prefix (`adk` in `adk-…`) of a generated id.
const MAX_PREFIX: usize = 12;

/// The names of generated ids, numbered in each class by first appearance.
#[derive(Debug)]
pub(super) struct Ids {
    names: HashMap<String, String>,
    last: HashMap<&'static str, usize>,
    numbered: bool,
}

impl Ids {
    pub(super) fn new(order: Order) -> Self {
        Self { names: HashMap::new(), last: HashMap::new(), numbered: order == Order::Ordered }
    }

    /// Names the ids of one event: the ids of the event, its invocation and its calls.
    pub(super) fn see_event(&mut self, event: &Value) {
        self.see(event.get("id"), "event");
        self.see(event.get("invocationId"), "inv");
        let parts = event.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            for key in ["functionCall", "functionResponse"] {
                self.see(part.get(key).and_then(|call| call.get("id")), "call");
            }
        }
    }

    fn see(&mut self, id: Option<&Value>, class: &'static str) {
        if let Some(id) = id.and_then(Value::as_str) {
            let whole = candidates(id.as_bytes(), 0).into_iter().flatten().any(|end| end == id.len());
            if whole {
                self.name(id, class);
            }
        }
    }

    /// The name of a generated id. The first request for the id decides its class.
    fn name(&mut self, id: &str, class: &'static str) -> &str {
        if !self.names.contains_key(id) {
            let name = if self.numbered || class == "inv" {
                let number = self.last.entry(class).or_default();
                *number += 1;
                format!("<{class}-{number}>")
            } else {
                format!("<{class}>")
            };
            self.names.insert(id.to_owned(), name);
        }
        &self.names[id]
    }

    /// Replaces every generated id in a value, including ids in keys and inside texts.
    pub(super) fn apply(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.replace(text)),
            Value::Array(items) => items.iter().map(|item| self.apply(item)).collect(),
            Value::Object(members) => {
                // The members are sorted by key, because ids without a class are numbered in the order in which they
                // are reached.
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_unstable_by_key(|(key, _)| *key);
                let renamed: Map<String, Value> =
                    sorted.into_iter().map(|(key, value)| (self.replace(key), self.apply(value))).collect();
                Value::Object(renamed)
            }
            other => other.clone(),
        }
    }

    fn replace(&mut self, text: &str) -> String {
        let bytes = text.as_bytes();
        let mut out = String::with_capacity(text.len());
        let (mut done, mut at) = (0, 0);
        while at < bytes.len() {
            match candidates(bytes, at).into_iter().flatten().next() {
                Some(end) => {
                    out.push_str(&text[done..at]);
                    out.push_str(self.name(&text[at..end], "id"));
                    (done, at) = (end, end);
                }
                None => at += 1,
            }
        }
        out.push_str(&text[done..]);
        out
    }
}

/// The ends of a generated id that starts at `at`, read with and without a prefix.
fn candidates(bytes: &[u8], at: usize) -> [Option<usize>; 2] {
    let prefixed = prefix_end(bytes, at).and_then(|end| uuid_end(bytes, end));
    [prefixed, uuid_end(bytes, at)]
}

/// The position after `word-`: a letter, up to eleven word characters, a dash.
fn prefix_end(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at).filter(|b| b.is_ascii_alphabetic())?;
    let word = bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    (word <= MAX_PREFIX && bytes.get(at + word) == Some(&b'-')).then_some(at + word + 1)
}

fn uuid_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    for (index, length) in UUID_GROUPS.into_iter().enumerate() {
        if index > 0 {
            bytes.get(at).filter(|b| **b == b'-')?;
            at += 1;
        }
        let group = bytes.get(at..at + length)?;
        if !group.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        at += length;
    }
    Some(at)
}
