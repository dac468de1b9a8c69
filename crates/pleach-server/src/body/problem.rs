//! [`Problem`]: one fault in a request.

use serde_json::{Value, json};

/// The largest input that a reply repeats, in values. The input is sent back with each of its problems, so a large one
/// is left out.
const REPEATED: usize = 32;
/// The longest string within a repeated input, in bytes.
const REPEATED_BYTES: usize = 256;

/// One fault in a request: its kind, its place, and what is expected there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    kind: &'static str,
    loc: Vec<Step>,
    msg: String,
    input: Option<Value>,
}

/// One step of the path to a place in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

impl Step {
    pub(crate) fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }
}

impl Problem {
    pub(crate) fn new(kind: &'static str, loc: Vec<Step>, msg: impl Into<String>) -> Self {
        Self { kind, loc, msg: msg.into(), input: None }
    }

    /// Adds the faulty value, unless it is large.
    pub(crate) fn with_input(mut self, input: &Value) -> Self {
        let mut left = REPEATED;
        self.input = is_small(input, &mut left).then(|| input.clone());
        self
    }

    pub(crate) fn to_json(&self) -> Value {
        let loc: Vec<Value> = self
            .loc
            .iter()
            .map(|step| match step {
                Step::Name(name) => Value::from(name.as_str()),
                Step::Index(index) => Value::from(*index),
            })
            .collect();
        let mut problem = json!({ "type": self.kind, "loc": loc, "msg": self.msg });
        if let Some(input) = &self.input {
            problem["input"] = input.clone();
        }
        problem
    }
}

fn is_small(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match value {
        Value::String(text) => text.len() <= REPEATED_BYTES,
        Value::Array(items) => items.iter().all(|item| is_small(item, left)),
        Value::Object(members) => {
            members.iter().all(|(key, member)| key.len() <= REPEATED_BYTES && is_small(member, left))
        }
        _ => true,
    }
}
