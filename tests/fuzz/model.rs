//! A second implementation of state operations, as simple as possible.

use std::collections::BTreeMap;

use pleach::{Map, StateOp};
use serde_json::{Number, Value};

/// The values of one or several scopes of state.
pub(crate) type Values = BTreeMap<String, Value>;

/// The result of an operation on a value, or `None` if the operation does not fit.
pub(crate) fn apply(op: &StateOp, stored: Value) -> Option<Value> {
    match op {
        StateOp::Set(value) => Some(value.clone()),
        StateOp::SetIfAbsent(value) => Some(if stored.is_null() { value.clone() } else { stored }),
        StateOp::Add(number) => match stored {
            Value::Null => Some(number.clone().into()),
            Value::Number(stored) => add(&stored, number).map(Value::Number),
            _ => None,
        },
        StateOp::Max(number) => keep(stored, number, |new, old| new > old),
        StateOp::Min(number) => keep(stored, number, |new, old| new < old),
        StateOp::Push(items) => list(stored).map(|mut list| {
            list.extend(items.iter().cloned());
            list.into()
        }),
        StateOp::Union(items) => list(stored).map(|list| {
            // The stored items stay unchanged, including duplicates.
            items
                .iter()
                .fold(list, |mut list, item| {
                    if !list.contains(item) {
                        list.push(item.clone());
                    }
                    list
                })
                .into()
        }),
        _ => unreachable!("the fuzz makes no other operation"),
    }
}

fn list(stored: Value) -> Option<Vec<Value>> {
    match stored {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn add(left: &Number, right: &Number) -> Option<Number> {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Number::from_i128(left + right),
        _ => Number::from_f64(left.as_f64()? + right.as_f64()?),
    }
}

/// A number as its exact whole part and the rest. Numbers beyond 128 bits need no exact comparison, because they differ
/// by more than the rounding of a float.
fn exact(number: &Number) -> (i128, f64) {
    match (integer(number), number.as_f64()) {
        (Some(integer), _) => (integer, 0.0),
        (None, float) => {
            let float = float.unwrap();
            (float.trunc() as i128, float.fract())
        }
    }
}

fn keep(stored: Value, number: &Number, wins: fn((i128, f64), (i128, f64)) -> bool) -> Option<Value> {
    let old = match &stored {
        Value::Null => return Some(number.clone().into()),
        Value::Number(old) => old,
        _ => return None,
    };
    let huge = |number: &Number| number.as_f64().unwrap().abs() >= 1e30;
    let wins = if huge(number) || huge(old) {
        wins((0, number.as_f64()?), (0, old.as_f64()?))
    } else {
        wins(exact(number), exact(old))
    };
    Some(if wins { number.clone().into() } else { stored })
}

/// A value whose floats are read again after they were written without an exponent.
pub(crate) fn without_exponent(value: &Value) -> Value {
    match value.as_f64() {
        Some(float) if value.is_f64() && float.abs() >= 1e16 => serde_json::from_str(&float.to_string()).unwrap(),
        _ => value.clone(),
    }
}

/// Returns true if two values are the same. Numbers are compared by value, because a database may write 1e300 as an integer.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (integer(left), integer(right)) {
            (Some(left), Some(right)) => left == right,
            _ => left.as_f64() == right.as_f64(),
        },
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => same_map(left, right),
        _ => left == right,
    }
}

/// Returns true if two maps have the same keys with the same values.
pub(crate) fn same_map(left: &Map, right: &Map) -> bool {
    left.len() == right.len() && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
}
