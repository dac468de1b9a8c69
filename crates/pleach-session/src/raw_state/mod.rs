//! Merging state columns as JSON text, without changing keys that the delta does not name.
//!
//! Every other stored value keeps its exact text, so an integer beyond 64 bits or another program's `1.0` survives any
//! number of appends. The JSON functions of databases do not guarantee this.
// S47

mod members;
mod stored_value;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use pleach_core::{Map, Scope, UnreadableKeys, merge_view, without_data};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use self::members::Member;
pub(crate) use self::members::{StoredKey, items, members};
pub use self::stored_value::StoredValue;
pub(crate) use self::stored_value::has_big_integers;
use crate::stored_json::read_stored;

/// One scope's part of a state delta: unprefixed keys and the JSON text of their values.
pub type RawObject = BTreeMap<String, Box<RawValue>>;

/// A state delta split by scope, with values as JSON text; `temp:` keys are left out.
// S10, S11
#[derive(Debug, Default)]
pub struct RawDelta {
    /// Keys of the app's state.
    pub app: RawObject,
    /// Keys of the user's state.
    pub user: RawObject,
    /// Keys of the session's own state.
    pub session: RawObject,
}

impl RawDelta {
    /// Splits a delta and writes its values as text.
    ///
    /// # Errors
    /// Fails if a value cannot be written as JSON text.
    pub fn from_map(delta: &Map) -> serde_json::Result<Self> {
        let mut split = Self::default();
        for (key, value) in delta {
            let (scope, name) = Scope::split(key);
            let target = match scope {
                Scope::App => &mut split.app,
                Scope::User => &mut split.user,
                Scope::Session => &mut split.session,
                Scope::Temp => continue,
            };
            target.insert(name.to_owned(), to_raw_value(value)?);
        }
        Ok(split)
    }
}

/// Applies `delta` to a stored state object. Top-level values are replaced, and `null` is stored as a value. Every
/// other value keeps its text, even if it cannot be read here.
///
/// # Errors
/// Fails if `stored` is not a JSON object.
// S12
pub fn merge(stored: &str, delta: &RawObject) -> serde_json::Result<String> {
    merge_strict(stored, delta).or_else(|error| match members(stored) {
        // Python, for example, writes NaN and infinities as bare words, which are not JSON. The slower search runs
        // only after an error.
        Some(members) => merge_members(&members, delta),
        None => Err(error),
    })
}

/// A stored state object, as read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredState {
    /// The readable values, without scope prefixes.
    pub values: Map,
    /// The keys whose values cannot be read, and why.
    pub unreadable: UnreadableKeys,
}

impl StoredState {
    /// Returns the merged view of a session's own state, its app's and its user's. Also returns the prefixed keys
    /// that cannot be read.
    // S20
    #[must_use]
    pub fn merged(self, app: &Self, user: &Self) -> (Map, UnreadableKeys) {
        let mut unreadable = self.unreadable;
        for (scope, shared) in [(Scope::App, app), (Scope::User, user)] {
            unreadable.extend(shared.unreadable.iter().map(|(key, reason)| (scope.key(key), reason.clone())));
        }
        let view = merge_view(self.values, &app.values, &user.values);
        unreadable.retain(|key, _| !view.contains_key(key));
        (view, unreadable)
    }
}

/// Reads a stored state object. Values that [`mend_json`](pleach_core::mend_json) can repair are repaired, and a value
/// that cannot be read does not hide the others.
///
/// # Errors
/// Fails if `stored` is not a JSON object.
// S47
pub fn decode(stored: &str) -> serde_json::Result<StoredState> {
    match serde_json::from_str(stored) {
        // Any other text that needs repair is invalid JSON.
        Ok(values) if !stored.contains("\\u0000") => Ok(StoredState { values, ..StoredState::default() }),
        strict => match members(stored) {
            Some(members) => Ok(decode_members(&members)),
            None => strict.map(|values| StoredState { values, ..StoredState::default() }),
        },
    }
}

fn decode_members(members: &[Member<'_>]) -> StoredState {
    let mut state = StoredState::default();
    let by_key: BTreeMap<StoredKey<'_>, &str> =
        members.iter().map(|member| (StoredKey::of(member.key), member.value)).collect();
    // Keys that are not valid text come first, so that a valid key with the same shown form replaces them.
    for (key, value) in by_key {
        let key = key.shown();
        match read_stored(value) {
            Ok(value) => {
                state.unreadable.remove(&key);
                state.values.insert(key, value);
            }
            Err(error) => {
                state.values.remove(&key);
                state.unreadable.insert(key, without_data(error).to_string());
            }
        }
    }
    state
}

/// Reads the values of some keys of a stored state object in one pass. Absent keys are left out.
///
/// # Errors
/// Fails if `stored` is not a JSON object.
pub fn values<'k>(stored: &str, keys: &[&'k str]) -> serde_json::Result<BTreeMap<&'k str, StoredValue>> {
    let strict = serde_json::from_str::<BTreeMap<Key<'_>, &RawValue>>(stored);
    let found: BTreeMap<StoredKey<'_>, &str> = match strict {
        Ok(object) => object.into_iter().map(|(key, value)| (StoredKey::Text(key.0), value.get())).collect(),
        Err(error) => {
            let members = members(stored).ok_or(error)?;
            members.iter().map(|member| (StoredKey::of(member.key), member.value)).collect()
        }
    };
    let of = |key: &'k str| Some((key, StoredValue::read(found.get(&StoredKey::Text(Cow::Borrowed(key)))?)));
    Ok(keys.iter().filter_map(|key| of(key)).collect())
}

/// Writes a delta as the text of a state object.
///
/// # Errors
/// Only errors of writing JSON.
pub fn to_text(object: &RawObject) -> serde_json::Result<String> {
    serde_json::to_string(object)
}

/// A key that borrows from the text unless it has escapes. Without the attribute, serde copies every `Cow`.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl serde::Serialize for Key<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn merge_strict(stored: &str, delta: &RawObject) -> serde_json::Result<String> {
    // Like every reader, a map keeps only the last value of a duplicate key.
    let mut object: BTreeMap<Key<'_>, &RawValue> = serde_json::from_str(stored)?;
    for (key, value) in delta {
        object.insert(Key(Cow::Borrowed(key)), value);
    }
    serde_json::to_string(&object)
}

fn merge_members(members: &[Member<'_>], delta: &RawObject) -> serde_json::Result<String> {
    let stored = members.iter().map(|member| (StoredKey::of(member.key), (Cow::Borrowed(member.key), member.value)));
    let mut object: BTreeMap<StoredKey<'_>, (Cow<'_, str>, &str)> = stored.collect();
    for (key, value) in delta {
        let written = Cow::Owned(serde_json::to_string(key)?);
        object.insert(StoredKey::Text(Cow::Borrowed(key)), (written, value.get()));
    }
    let members: Vec<String> = object.values().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", members.join(",")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(stored: &str, delta: serde_json::Value) -> String {
        let delta = delta.as_object().expect("the test gives an object").clone();
        merge(stored, &RawDelta::from_map(&delta).unwrap().session).unwrap()
    }

    #[test]
    fn s47_untouched_values_keep_their_text() {
        let stored =
            r#"{"big":1000000000000000000000000000000,"one":1.0,"zero":-0.0,"max":1.7976931348623157e308,"e":1e-07}"#;
        let got = merged(stored, json!({"k": 2}));
        for exact in [
            r#""big":1000000000000000000000000000000"#,
            r#""one":1.0"#,
            r#""zero":-0.0"#,
            r#""max":1.7976931348623157e308"#,
            r#""e":1e-07"#,
            r#""k":2"#,
        ] {
            assert!(got.contains(exact), "{exact} in {got}");
        }
    }

    #[test]
    fn s12_merge_replaces_at_the_top_level_and_keeps_null() {
        assert_eq!(
            merged(r#"{"a": {"x": 1}, "b": 1}"#, json!({"a": {"y": 2}, "b": null})),
            r#"{"a":{"y":2},"b":null}"#
        );
    }

    #[test]
    fn s47_escaped_keys_meet_their_plain_spelling_and_duplicates_collapse() {
        assert_eq!(merged(r#"{"\u00e9": 1, "a": 1, "a": 2}"#, json!({"é": 3})), r#"{"a":2,"é":3}"#);
    }

    #[test]
    fn s11_a_delta_is_split_and_loses_one_prefix() {
        let delta = json!({"app:a": 1, "user:b": 2, "temp:c": 3, "d": 4, "app:user:x": 5, "app:": 6});
        let split = RawDelta::from_map(delta.as_object().unwrap()).unwrap();
        assert_eq!(to_text(&split.app).unwrap(), r#"{"":6,"a":1,"user:x":5}"#);
        assert_eq!(to_text(&split.user).unwrap(), r#"{"b":2}"#);
        assert_eq!(to_text(&split.session).unwrap(), r#"{"d":4}"#);
    }

    #[test]
    fn values_are_read_by_key() {
        let stored = r#"{"a": 1, "n": null, "\u00e9": [1.5], "x": {}}"#;
        let found = values(stored, &["a", "n", "é", "missing"]).unwrap();
        let read = |value: &str| StoredValue::read(value);
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("a", read("1")), ("n", read("null")), ("é", read("[1.5]"))]
        );
        assert_eq!(values(r#"{"a": NaN, "\ud800": 1}"#, &["a"]).unwrap()["a"], read("null"));
        assert!(values("[]", &["a"]).is_err());
    }

    #[test]
    fn s47_python_words_for_nan_and_infinity_read_as_null() {
        let stored = r#"{"a": NaN, "b": -Infinity, "c": [Infinity, "NaN \" -Infinity"], "d": -1}"#;
        let clean = json!({"a": null, "b": null, "c": [null, "NaN \" -Infinity"], "d": -1});
        assert_eq!(json!(decode(stored).unwrap().values), clean);
    }

    /// Returns the text that Python's `json` writes for a state with a value of each unusual kind.
    fn odd_state() -> String {
        let deep = format!("{}{}", "[".repeat(150), "]".repeat(150));
        let big = "9".repeat(401);
        format!(
            r#"{{"good": 1, "deep": {deep}, "big": {big}, "half": "a\ud83d", "nan": [NaN], "nul": "\u0000", "k\udc00": 2, "k\ud800": 3}}"#
        )
    }

    #[test]
    fn an_unreadable_value_does_not_hide_the_others() {
        let state = decode(&odd_state()).unwrap();
        let clean = json!({
            "good": 1, "big": "9".repeat(401), "half": "a\u{fffd}", "nan": [null], "nul": "\u{fffd}", "k\u{fffd}": 2,
        });
        assert_eq!(json!(state.values), clean);
        assert_eq!(state.unreadable.keys().collect::<Vec<_>>(), ["deep"]);
        assert!(state.unreadable["deep"].starts_with("it nests more than 127 levels deep"), "{state:?}");
        let twice = decode(r#"{"k\ud800": 1, "k\ufffd": 2, "\ud800": , "x": }"#).unwrap();
        assert_eq!((json!(twice.values), twice.unreadable.len()), (json!({"k\u{fffd}": 2}), 2));
    }

    #[test]
    fn s47_keys_that_a_delta_does_not_name_keep_their_bytes() {
        let stored = odd_state();
        let merged = merged(&stored, json!({"good": 2, "k\u{fffd}": 4, "new": 5}));
        for member in members(&stored).unwrap().iter().filter(|member| member.key != "\"good\"") {
            assert!(merged.contains(&format!("{}:{}", member.key, member.value)), "{} in {merged}", member.key);
        }
        assert!(merged.contains(r#""good":2"#) && merged.contains(r#""new":5"#));
        let state = decode(&merged).unwrap();
        assert_eq!((&state.values["k\u{fffd}"], state.values.len()), (&json!(4), 7));
        assert_eq!(decode(&super::tests::merged(&stored, json!({"deep": 1}))).unwrap().unreadable.len(), 0);
    }

    #[test]
    fn only_an_object_is_a_state() {
        for bad in ["null", "[]", "\"\"", "{bad", "\"x\"", "NaN", ""] {
            assert!(decode(bad).is_err(), "{bad}");
            assert!(merge(bad, &RawObject::new()).is_err(), "{bad}");
        }
    }
}
