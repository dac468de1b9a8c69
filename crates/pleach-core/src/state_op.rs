//! [`StateOp`]: a change of a state key that depends on the stored value.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use serde_json::{Number, Value};

/// A change of a state key that is applied to the value in the store, inside the transaction of the append.
///
/// Concurrent writers of a key, in other sessions and processes, do not overwrite each other. An absent key and `null`
/// are both treated as "no value yet". The stored event shows the result as a plain value of its state delta; the
/// operation itself is never serialised.
///
/// ```
/// use pleach_core::StateOp;
/// use serde_json::json;
///
/// assert_eq!(StateOp::Add(2.into()).apply(Some(&json!(40))).unwrap(), json!(42));
/// assert_eq!(StateOp::Push(vec![json!("b")]).apply(Some(&json!(["a"]))).unwrap(), json!(["a", "b"]));
/// assert!(StateOp::Add(1.into()).apply(Some(&json!("text"))).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StateOp {
    /// Replaces the value, so that later operations do not depend on the stored one.
    Set(Value),
    /// Adds a number. If there is no value, the result is that number.
    ///
    /// Integers are added exactly, and the sum must fit into 64 bits (`i64` or `u64`). If either number is a float,
    /// both are added as `f64`, and the sum must be finite.
    Add(Number),
    /// Keeps the greater number, comparing integers and floats exactly. If they are equal, the stored number is kept.
    Max(Number),
    /// Keeps the smaller number, comparing like [`Max`](Self::Max).
    Min(Number),
    /// Appends items to a list.
    Push(Vec<Value>),
    /// Appends the items that a list does not contain, each one once. Existing items are not changed.
    Union(Vec<Value>),
    /// Sets the value if there is none.
    SetIfAbsent(Value),
}

/// The operations of an event by state key. The operations on one key are applied in order, and an empty list yields
/// the stored value.
pub type StateOps = BTreeMap<String, Vec<StateOp>>;

/// The reason why an operation cannot be applied to a value. `Display` never shows the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateOpError {
    /// The value has the wrong type.
    #[error("`{operation}` needs {wanted}, but the value is {found}")]
    WrongType {
        /// The operation's name.
        operation: &'static str,
        /// The type that the operation needs.
        wanted: &'static str,
        /// The type of the value.
        found: &'static str,
    },
    /// The stored value is or contains an integer of more than 64 bits, which would be rounded.
    #[error("the value has an integer of more than 64 bits, which would be rounded: set it instead")]
    Inexact,
    /// Another program stored the value. It has text or numbers that are changed when read, or it cannot be read at
    /// all.
    #[error("the stored value cannot be read exactly: set it instead")]
    Foreign,
    /// The sum of two integers does not fit into 64 bits, or a sum of floats is not finite.
    #[error("the result of `{operation}` is out of range (integers have 64 bits, floats are finite)")]
    OutOfRange {
        /// The operation's name.
        operation: &'static str,
    },
}

impl StateOp {
    /// Returns the operation's name, such as `add`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Set(_) => "set",
            Self::Add(_) => "add",
            Self::Max(_) => "max",
            Self::Min(_) => "min",
            Self::Push(_) => "push",
            Self::Union(_) => "union",
            Self::SetIfAbsent(_) => "set_if_absent",
        }
    }

    /// Returns the values in the operation, except numbers.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        match self {
            Self::Set(value) | Self::SetIfAbsent(value) => std::slice::from_ref(value),
            Self::Push(items) | Self::Union(items) => items,
            Self::Add(_) | Self::Max(_) | Self::Min(_) => &[],
        }
    }

    /// Returns the same values mutably.
    pub(crate) fn values_mut(&mut self) -> &mut [Value] {
        match self {
            Self::Set(value) | Self::SetIfAbsent(value) => std::slice::from_mut(value),
            Self::Push(items) | Self::Union(items) => items,
            Self::Add(_) | Self::Max(_) | Self::Min(_) => &mut [],
        }
    }

    /// Replaces U+0000 by U+FFFD in the values. Returns `true` if there was any.
    pub fn replace_nul(&mut self) -> bool {
        self.values_mut().iter_mut().fold(false, |found, value| found | crate::replace_nul(value))
    }

    pub(crate) fn into_values(self) -> Vec<Value> {
        match self {
            Self::Set(value) | Self::SetIfAbsent(value) => vec![value],
            Self::Push(items) | Self::Union(items) => items,
            Self::Add(_) | Self::Max(_) | Self::Min(_) => Vec::new(),
        }
    }

    /// Returns the result of the operation on a stored value.
    ///
    /// # Errors
    /// [`StateOpError`] if the value has the wrong type or the result is out of range.
    pub fn apply(&self, stored: Option<&Value>) -> Result<Value, StateOpError> {
        let mut value = stored.cloned().unwrap_or_default();
        self.apply_to(&mut value)?;
        Ok(value)
    }

    /// Applies the operation in place; `null` means no value.
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply); `value` is then unchanged.
    pub fn apply_to(&self, value: &mut Value) -> Result<(), StateOpError> {
        match self {
            Self::Set(new) => value.clone_from(new),
            Self::SetIfAbsent(new) if value.is_null() => value.clone_from(new),
            Self::SetIfAbsent(_) => {}
            Self::Add(number) => *value = Value::Number(self.sum(self.number(value)?, number)?),
            Self::Max(number) => self.keep(value, number, Ordering::Greater)?,
            Self::Min(number) => self.keep(value, number, Ordering::Less)?,
            Self::Push(items) => self.list(value)?.extend_from_slice(items),
            Self::Union(items) => {
                let list = self.list(value)?;
                let known: HashSet<&Value> = list.iter().collect();
                let mut new: Vec<Value> = items.iter().filter(|item| !known.contains(item)).cloned().collect();
                drop_doubles(&mut new);
                list.append(&mut new);
            }
        }
        Ok(())
    }

    /// Applies operations in order. Without operations the result is the stored value, or `null`.
    ///
    /// # Errors
    /// The error of [`apply`](Self::apply) for the first operation that fails.
    pub fn apply_all(ops: &[Self], stored: Option<&Value>) -> Result<Value, StateOpError> {
        let mut value = stored.cloned().unwrap_or_default();
        ops.iter().try_for_each(|op| op.apply_to(&mut value))?;
        Ok(value)
    }

    /// Appends `next` to `ops`, or merges it with the last operation if the result is the same.
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply), if the last operation sets a value that `next` does not fit; `ops` is then
    /// unchanged.
    pub fn push_onto(ops: &mut Vec<Self>, next: Self) -> Result<(), StateOpError> {
        match (ops.last_mut(), &next) {
            (_, Self::Set(_)) => {
                ops.clear();
                ops.push(next);
            }
            (Some(Self::Set(value)), _) => next.apply_to(value)?,
            (Some(Self::Max(known)), Self::Max(number)) if compare(number, known) == Ordering::Greater => {
                known.clone_from(number);
            }
            (Some(Self::Min(known)), Self::Min(number)) if compare(number, known) == Ordering::Less => {
                known.clone_from(number);
            }
            (Some(Self::Max(_)), Self::Max(_)) | (Some(Self::Min(_)), Self::Min(_)) => {}
            (Some(Self::Push(known)), Self::Push(items)) => known.extend_from_slice(items),
            (Some(Self::Union(known)), Self::Union(items)) => {
                known.extend_from_slice(items);
                drop_doubles(known);
            }
            (Some(Self::Add(known)), Self::Add(number)) if both_integers(known, number) => {
                match next.sum(Some(known), number) {
                    Ok(sum) => *known = sum,
                    // The sum with the stored value may still be in range.
                    Err(_) => ops.push(next),
                }
            }
            _ => ops.push(next),
        }
        Ok(())
    }

    fn number<'v>(&self, value: &'v Value) -> Result<Option<&'v Number>, StateOpError> {
        match value {
            Value::Null => Ok(None),
            Value::Number(number) => Ok(Some(number)),
            other => Err(self.wrong(other, "a number")),
        }
    }

    fn list<'v>(&self, value: &'v mut Value) -> Result<&'v mut Vec<Value>, StateOpError> {
        if value.is_null() {
            *value = Value::Array(Vec::new());
        }
        match value {
            Value::Array(list) => Ok(list),
            other => Err(self.wrong(other, "a list")),
        }
    }

    fn keep(&self, value: &mut Value, number: &Number, wanted: Ordering) -> Result<(), StateOpError> {
        if self.number(value)?.is_none_or(|stored| compare(number, stored) == wanted) {
            *value = Value::Number(number.clone());
        }
        Ok(())
    }

    fn sum(&self, stored: Option<&Number>, number: &Number) -> Result<Number, StateOpError> {
        let Some(stored) = stored else { return Ok(number.clone()) };
        let sum = match (integer(stored), integer(number)) {
            (Some(left), Some(right)) => Number::from_i128(left + right),
            _ => stored.as_f64().zip(number.as_f64()).and_then(|(left, right)| Number::from_f64(left + right)),
        };
        sum.ok_or(StateOpError::OutOfRange { operation: self.name() })
    }

    fn wrong(&self, value: &Value, wanted: &'static str) -> StateOpError {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        StateOpError::WrongType { operation: self.name(), wanted, found }
    }
}

/// Returns `true` if two numbers have the same value, such as `1e16` and `10000000000000000`.
#[must_use]
pub fn is_same_number(left: &Number, right: &Number) -> bool {
    compare(left, right) == Ordering::Equal
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn both_integers(left: &Number, right: &Number) -> bool {
    !left.is_f64() && !right.is_f64()
}

/// Compares by value, without rounding an integer to a float.
fn compare(left: &Number, right: &Number) -> Ordering {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => compare_float(right, left).reverse(),
        (None, Some(right)) => compare_float(left, right),
        // JSON has no NaN.
        (None, None) => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the whole part of a float within these bounds fits")]
fn compare_float(float: &Number, integer: i128) -> Ordering {
    let float = float.as_f64().unwrap_or_default();
    if float.abs() >= 1e30 {
        return if float > 0.0 { Ordering::Greater } else { Ordering::Less };
    }
    let whole = (float.trunc() as i128).cmp(&integer);
    whole.then_with(|| float.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal))
}

/// Keeps the first of equal items. The hash has a random key, because items may come from outside.
fn drop_doubles(list: &mut Vec<Value>) {
    let mut seen = HashSet::with_capacity(list.len());
    let first: Vec<bool> = list.iter().map(|item| seen.insert(item)).collect();
    let mut first = first.into_iter();
    list.retain(|_| first.next().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{StateOp, StateOpError};

    fn number(value: &Value) -> serde_json::Number {
        value.as_number().unwrap().clone()
    }

    fn items(value: Value) -> Vec<Value> {
        value.as_array().unwrap().clone()
    }

    fn check(op: &StateOp, stored: Value, expected: Result<Value, &str>) {
        let mut value = stored.clone();
        let outcome = op.apply_to(&mut value);
        match expected {
            Ok(expected) => assert_eq!((outcome, &value), (Ok(()), &expected), "{op:?} on {stored}"),
            Err(text) => {
                assert_eq!(outcome.unwrap_err().to_string(), text, "{op:?} on {stored}");
                assert_eq!(value, stored, "a failed operation changes nothing");
            }
        }
    }

    /// Integers are exact, and an overflow is an error.
    #[test]
    fn add_is_exact_for_integers_and_refuses_other_types_and_overflows() {
        let add = |value: Value| StateOp::Add(number(&value));
        check(&add(json!(1)), json!(null), Ok(json!(1)));
        check(&add(json!(-5)), json!(3), Ok(json!(-2)));
        check(&add(json!(1)), json!((1_i64 << 53) + 1), Ok(json!((1_i64 << 53) + 2)));
        check(&add(json!(1)), json!(i64::MAX), Ok(json!(1_u64 << 63)));
        check(&add(json!(i64::MIN)), json!(u64::MAX), Ok(json!(i64::MAX)));
        check(&add(json!(0.5)), json!(1), Ok(json!(1.5)));
        check(&add(json!(1)), json!(1.0), Ok(json!(2.0)));
        let range = "the result of `add` is out of range (integers have 64 bits, floats are finite)";
        check(&add(json!(1)), json!(u64::MAX), Err(range));
        check(&add(json!(-1)), json!(i64::MIN), Err(range));
        check(&add(json!(f64::MAX)), json!(f64::MAX), Err(range));
        check(&add(json!(1)), json!("secret"), Err("`add` needs a number, but the value is a text"));
        check(&add(json!(1)), json!([1]), Err("`add` needs a number, but the value is a list"));
    }

    #[test]
    fn numbers_are_the_same_by_value() {
        let same = |left: Value, right: Value| super::is_same_number(&number(&left), &number(&right));
        assert!(same(json!(1e16), json!(10_000_000_000_000_000_i64)) && same(json!(1), json!(1.0)));
        assert!(same(json!(-0.0), json!(0)) && same(json!(1e300), json!(1e300)));
        assert!(!same(json!(9_007_199_254_740_992.0), json!(9_007_199_254_740_993_i64)));
        assert!(!same(json!(u64::MAX), json!(18_446_744_073_709_551_615.0)));
    }

    #[test]
    fn max_and_min_compare_integers_and_floats_exactly() {
        let (max, min) = (|value: Value| StateOp::Max(number(&value)), |value: Value| StateOp::Min(number(&value)));
        check(&max(json!(3)), json!(null), Ok(json!(3)));
        check(&max(json!(3)), json!(4), Ok(json!(4)));
        check(&max(json!(5)), json!(4.5), Ok(json!(5)));
        check(&max(json!(4.5)), json!(5), Ok(json!(5)));
        check(&max(json!(-4.5)), json!(-5), Ok(json!(-4.5)));
        check(&max(json!((1_i64 << 53) + 1)), json!(9_007_199_254_740_992.0), Ok(json!((1_i64 << 53) + 1)));
        check(&max(json!(4.0)), json!(4), Ok(json!(4)));
        check(&min(json!(3)), json!(4), Ok(json!(3)));
        check(&min(json!(-4.5)), json!(-4), Ok(json!(-4.5)));
        check(&min(json!(1e300)), json!(u64::MAX), Ok(json!(u64::MAX)));
        check(&max(json!(1)), json!(true), Err("`max` needs a number, but the value is a boolean"));
    }

    #[test]
    fn push_and_union_append_and_a_union_adds_no_duplicates() {
        let (push, union) = (|value: Value| StateOp::Push(items(value)), |value: Value| StateOp::Union(items(value)));
        check(&push(json!([1, 1])), json!(null), Ok(json!([1, 1])));
        check(&push(json!([{"a": 1}])), json!([0]), Ok(json!([0, {"a": 1}])));
        check(&union(json!(["b", "a", "c", "c"])), json!(["a"]), Ok(json!(["a", "b", "c"])));
        check(&union(json!([])), json!(null), Ok(json!([])));
        // Duplicates in the stored list are kept.
        check(&union(json!(["b", "a", "b"])), json!(["a", "a", 1, 1]), Ok(json!(["a", "a", 1, 1, "b"])));
        check(&push(json!([1])), json!({"a": 1}), Err("`push` needs a list, but the value is an object"));
        check(&StateOp::SetIfAbsent(json!(1)), json!(null), Ok(json!(1)));
        check(&StateOp::SetIfAbsent(json!(1)), json!(false), Ok(json!(false)));
    }

    #[test]
    fn merged_operations_have_the_result_of_the_single_ones() {
        let add = |value: i64| StateOp::Add(value.into());
        for (ops, joined) in [
            (vec![add(1), add(2)], 1),
            (vec![add(i64::MAX), add(i64::MAX), add(i64::MAX)], 2),
            (vec![StateOp::Max(3.into()), StateOp::Max(7.into()), StateOp::Max(5.into())], 1),
            (vec![add(1), StateOp::Set(json!(5)), add(2)], 1),
            (vec![add(1), StateOp::Max(3.into()), add(1)], 3),
        ] {
            let mut list = Vec::new();
            ops.iter().cloned().for_each(|op| StateOp::push_onto(&mut list, op).unwrap());
            assert_eq!(list.len(), joined, "{list:?}");
            let stored = json!(-20);
            assert_eq!(StateOp::apply_all(&list, Some(&stored)), StateOp::apply_all(&ops, Some(&stored)));
        }
        let mut list = vec![StateOp::Set(json!("text"))];
        let refused = StateOp::push_onto(&mut list, add(1));
        assert!(matches!(refused, Err(StateOpError::WrongType { operation: "add", .. })));
        assert_eq!(list, [StateOp::Set(json!("text"))]);
    }
}
