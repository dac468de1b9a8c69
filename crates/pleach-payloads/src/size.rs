//! Comparing the length of JSON texts with a limit.

use std::io;

use pleach_core::{DEEPEST, Map, nests_within};
use serde::Serialize;
use serde_json::Value;

/// Returns `true` if the JSON text of a value has more than `limit` bytes. The text is not stored, and writing stops at
/// the limit.
///
/// A value that nests deeper than any store accepts is treated as small, because the store refuses it by name.
pub(crate) fn is_larger(value: &Value, limit: usize) -> bool {
    nests_within(value, DEEPEST) && has_more_bytes(value, limit)
}

/// Like [`is_larger`], for an object.
pub(crate) fn is_larger_map(map: &Map, limit: usize) -> bool {
    map.values().all(|member| nests_within(member, DEEPEST)) && has_more_bytes(map, limit)
}

fn has_more_bytes(value: &impl Serialize, limit: usize) -> bool {
    let mut budget = Budget { left: limit, is_exceeded: false };
    // This fails if the budget is exceeded, or if a value has no JSON form, which the store refuses.
    let _ = serde_json::to_writer(&mut budget, value);
    budget.is_exceeded
}

struct Budget {
    left: usize,
    is_exceeded: bool,
}

impl io::Write for Budget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(bytes.len()) {
            Some(left) => {
                self.left = left;
                Ok(bytes.len())
            }
            None => {
                self.is_exceeded = true;
                Err(io::Error::other("the value is large"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_larger_than_a_limit_by_its_json_text() {
        for value in [json!(1), json!("ü\n\"x"), json!({"a": [1.5, null, true], "b": {"c": "d"}}), json!(u64::MAX)] {
            let length = serde_json::to_string(&value).unwrap().len();
            assert!(is_larger(&value, length - 1), "{value}");
            assert!(!is_larger(&value, length), "{value}");
        }
        let deep = (0..100_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        assert!(!is_larger(&deep, 0));
        let map = Map::from_iter([("a".to_owned(), deep)]);
        assert!(!is_larger_map(&map, 0));
        map.into_iter().for_each(|(_, deep)| pleach_core::discard(deep));
    }
}
