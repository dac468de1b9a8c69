//! State columns as JSON text: merged without touching what the delta does not name.
//!
//! A stored value that no delta mentions keeps its exact text, so that an integer beyond 64 bits or a `1.0` another
//! program stored is still that after any number of appends. Databases' own JSON functions do not promise this.
// S47

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use pleach_core::{Map, Scope, SessionKey, StateOpError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::SessionResult;
use crate::prepare::misfit;

/// One scope's part of a state delta: unprefixed keys and the JSON text of their values.
pub type RawObject = BTreeMap<String, Box<RawValue>>;

/// A state delta split by scope, its values written as JSON text; `temp:` keys are left out.
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
    /// Splits and writes a delta.
    ///
    /// # Errors
    /// When a value cannot be written as JSON text.
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

/// Applies `delta` to a stored state object: top-level replacement, `null` kept as a value.
///
/// # Errors
/// When `stored` is not a JSON object.
// S12
pub fn merge(stored: &str, delta: &RawObject) -> serde_json::Result<String> {
    match merge_strict(stored, delta) {
        Ok(merged) => Ok(merged),
        // Python writes NaN and infinities as bare words that are not JSON; only then look for them.
        Err(error) => match without_bare_words(stored) {
            Cow::Owned(clean) => merge_strict(&clean, delta),
            Cow::Borrowed(_) => Err(error),
        },
    }
}

/// Reads a stored state object; the words Python writes for NaN and infinities read as null.
///
/// # Errors
/// When `stored` is not a JSON object.
// S47
pub fn decode(stored: &str) -> serde_json::Result<Map> {
    match serde_json::from_str(stored) {
        Ok(state) => Ok(state),
        Err(error) => match without_bare_words(stored) {
            Cow::Owned(clean) => serde_json::from_str(&clean),
            Cow::Borrowed(_) => Err(error),
        },
    }
}

/// The value of one key of a stored state object; `None` when it is absent.
///
/// # Errors
/// When `stored` is not a JSON object.
pub fn value(stored: &str, key: &str) -> serde_json::Result<Option<StoredValue>> {
    let read = |stored: &str| -> serde_json::Result<_> {
        let object: BTreeMap<Key<'_>, &RawValue> = serde_json::from_str(stored)?;
        let Some(raw) = object.get(&Key(Cow::Borrowed(key))) else { return Ok(None) };
        let value = serde_json::from_str::<Value>(raw.get())?;
        let is_integer = !raw.get().contains(['.', 'e', 'E']);
        let rounded = value.is_f64() && is_integer;
        Ok(Some(if rounded { StoredValue::BigInteger(value) } else { StoredValue::Value(value) }))
    };
    read(stored).or_else(|error| match without_bare_words(stored) {
        Cow::Owned(clean) => read(&clean),
        Cow::Borrowed(_) => Err(error),
    })
}

/// A value of a stored state object.
#[derive(Debug, PartialEq)]
pub enum StoredValue {
    /// A value as it is.
    Value(Value),
    /// An integer of more than 64 bits, rounded to a float.
    BigInteger(Value),
}

impl StoredValue {
    /// Returns the value for an operation to be applied to.
    ///
    /// # Errors
    /// `StateOperation` for a big integer, which another program has stored: an operation on it would not be exact.
    pub fn exact(self, key: &SessionKey, state_key: &str) -> SessionResult<Value> {
        match self {
            Self::Value(value) => Ok(value),
            Self::BigInteger(_) => Err(misfit(key, state_key, StateOpError::Inexact)),
        }
    }

    /// Returns the value where the storage writes large floats as integers, as jsonb does, so that the two look alike.
    #[must_use]
    pub fn rounded(self) -> Value {
        match self {
            Self::Value(value) | Self::BigInteger(value) => value,
        }
    }
}

/// The text of a delta as a state object of its own.
///
/// # Errors
/// Only what writing JSON can fail with.
pub fn to_text(object: &RawObject) -> serde_json::Result<String> {
    serde_json::to_string(object)
}

/// A key that borrows from the text unless it has escapes; serde copies every `Cow` without the attribute.
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
    // A map also collapses duplicate keys to their last value, which is what every reader makes of them.
    let mut object: BTreeMap<Key<'_>, &RawValue> = serde_json::from_str(stored)?;
    for (key, value) in delta {
        object.insert(Key(Cow::Borrowed(key)), value);
    }
    serde_json::to_string(&object)
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside strings with `null`.
fn without_bare_words(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    let (mut in_string, mut escaped) = (false, false);
    while let Some(&byte) = text.as_bytes().get(at) {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte == b'"' {
            in_string = true;
        } else if matches!(byte, b'N' | b'I' | b'-')
            && let Some(word) = WORDS.into_iter().find(|word| text[at..].starts_with(word))
        {
            clean.push_str(&text[copied..at]);
            clean.push_str("null");
            copied = at + word.len();
            at = copied;
            continue;
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
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
    fn one_value_is_read_and_a_big_integer_is_not_rounded() {
        let stored = r#"{"a": 1, "big": 100000000000000000000, "f": 1e20, "n": null, "\u00e9": [1.5]}"#;
        let read = |key| value(stored, key).unwrap();
        assert_eq!(read("a"), Some(StoredValue::Value(json!(1))));
        assert_eq!(read("big"), Some(StoredValue::BigInteger(json!(1e20))));
        assert_eq!(read("f"), Some(StoredValue::Value(json!(1e20))));
        assert_eq!(read("n"), Some(StoredValue::Value(json!(null))));
        assert_eq!(read("é"), Some(StoredValue::Value(json!([1.5]))));
        assert_eq!(read("missing"), None);
        assert_eq!(value(r#"{"a": NaN}"#, "a").unwrap(), Some(StoredValue::Value(json!(null))));
        assert!(value("[]", "a").is_err());
    }

    #[test]
    fn s47_python_words_for_nan_and_infinity_read_as_null() {
        let stored = r#"{"a": NaN, "b": -Infinity, "c": [Infinity, "NaN \" -Infinity"], "d": -1}"#;
        let clean = json!({"a": null, "b": null, "c": [null, "NaN \" -Infinity"], "d": -1});
        assert_eq!(json!(decode(stored).unwrap()), clean);
        assert!(merged(stored, json!({"a": 1})).starts_with(r#"{"a":1,"b":null"#));
    }

    #[test]
    fn case_88_only_an_object_is_a_state() {
        for bad in ["null", "[]", "\"\"", "{bad", "\"x\"", "NaN", ""] {
            assert!(decode(bad).is_err(), "{bad}");
            assert!(merge(bad, &RawObject::new()).is_err(), "{bad}");
        }
    }
}
