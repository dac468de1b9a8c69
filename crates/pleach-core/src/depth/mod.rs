//! The limit on the nesting of JSON values. Deeper values cannot be read back, and dropping them may overflow the
//! stack.

pub(crate) mod limited;

use std::any::Any;
use std::io;

use serde::Serialize;
use serde_json::{Error, Value};

use limited::{DEEP, DEEPEST, DepthBudget, Limited};

/// Serialises a value to JSON of at most 127 levels, which is the limit of serde_json's parser.
///
/// A deeper value is passed to [`discard`].
///
/// # Errors
/// Fails if the value has no JSON form, for example because of a NaN or an infinity, or if it nests deeper.
pub fn to_json<T: Serialize>(value: T) -> Result<Value, Error> {
    let json = value.serialize(Limited { inner: serde_json::value::Serializer, budget: DepthBudget::ALL });
    if json.as_ref().is_err_and(|error| error.to_string().contains(DEEP)) {
        discard(value);
    }
    json
}

/// Drops a value that was refused because it nests too deep. If dropping it may overflow the stack, the value is leaked
/// instead.
///
/// Only a program can create such a value, because a parser stops at 127 levels. A stack overflow would abort the
/// process, so the leak is the smaller fault. Only the value's own `Drop` could free it, and that is recursive.
/// Values of up to 508 levels are dropped normally. So a value that came from outside and was wrapped in a few more
/// levels is never leaked.
pub fn discard<T: Serialize>(value: T) {
    if !fits(&value, DepthBudget::DROPPED) {
        std::mem::forget(value);
    }
}

/// Returns `true` if a value nests within the budget; other faults are ignored.
pub(crate) fn fits<T: Serialize + ?Sized>(value: &T, budget: DepthBudget) -> bool {
    let written = value.serialize(Limited { inner: &mut serde_json::Serializer::new(io::sink()), budget });
    !written.is_err_and(|error| error.to_string().contains(DEEP))
}

/// Like [`to_json`], but a [`Value`] is returned without a copy, and one that is too deep is freed.
///
/// # Errors
/// The errors of [`to_json`].
pub fn into_json<T: Serialize + 'static>(value: T) -> Result<Value, Error> {
    let mut value = Some(value);
    let any: &mut dyn Any = &mut value;
    if let Some(json) = any.downcast_mut::<Option<Value>>().and_then(Option::take) {
        return bounded(json).ok_or_else(|| serde::ser::Error::custom(DEEP));
    }
    to_json(value)
}

/// Returns the value unless it nests more than 127 levels deep. A deeper value is freed level by level, because a
/// normal drop needs a stack as deep as the value.
#[must_use]
pub fn bounded(value: Value) -> Option<Value> {
    if is_bounded(&value) {
        return Some(value);
    }
    free(value);
    None
}

/// Returns `true` if a value nests at most 127 levels deep, which is the limit of serde_json's parser.
#[must_use]
pub fn is_bounded(value: &Value) -> bool {
    nests_within(value, DEEPEST)
}

/// Returns `true` if a value nests at most `levels` deep. Recurses no deeper than that.
#[must_use]
pub fn nests_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| nests_within(item, levels - 1)),
        Value::Object(members) => levels > 0 && members.values().all(|member| nests_within(member, levels - 1)),
        _ => true,
    }
}

fn free(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels)
            .fold(Value::Null, |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) })
    }

    #[test]
    fn numbers_without_a_json_form_are_refused_at_any_depth() {
        use std::collections::BTreeMap;

        assert_eq!(to_json((Option::<f64>::None, 1.5, ())).unwrap(), json!([null, 1.5, null]));
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(to_json(number).is_err());
            assert!(into_json(Some(number)).is_err());
            assert!(to_json(BTreeMap::from([("a", vec![Some(1.0), Some(number)])])).is_err());
            assert!(to_json((1, Ok::<f64, ()>(number))).is_err());
        }
        assert!(to_json(f32::NAN).is_err());
    }

    #[test]
    fn values_are_leaked_only_where_a_drop_may_overflow_the_stack() {
        use std::sync::Arc;

        #[derive(serde::Serialize)]
        struct Chain(
            Option<Box<Chain>>,
            #[serde(skip)]
            #[expect(dead_code, reason = "it counts the values that are alive")]
            Arc<()>,
        );
        let chain = |levels: usize, alive: &Arc<()>| {
            (0..levels).fold(Chain(None, Arc::clone(alive)), |inner, _| Chain(Some(Box::new(inner)), Arc::clone(alive)))
        };
        for (levels, kept) in [(128, 0), (500, 0), (600, 601), (100_000, 100_001)] {
            let alive = Arc::default();
            assert!(to_json(chain(levels, &alive)).is_err());
            assert_eq!(Arc::strong_count(&alive), 1 + kept, "{levels}");
        }
    }

    #[test]
    fn values_that_are_too_deep_to_be_read_are_freed_without_recursion() {
        assert!(bounded(nested(127)).is_some());
        assert!(bounded(nested(128)).is_none());
        assert!(bounded((0..1_000_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]))).is_none());
    }
}
