//! Merging state columns as JSON text, without touching keys that the delta does not name.
//!
//! A stored value that no delta names keeps its exact text, so an integer beyond 64 bits or a `1.0` of another program
//! survives any number of appends. Databases' own JSON functions do not guarantee this.
// S47

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use pleach_core::{Map, Scope, SessionKey, StateOpError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::{SessionError, SessionResult};

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
        // Python writes NaN and infinities as bare words, which are not JSON. The slow search runs only after an error.
        Err(error) => match without_bare_words(stored) {
            Cow::Owned(clean) => merge_strict(&clean, delta),
            Cow::Borrowed(_) => Err(error),
        },
    }
}

/// Reads a stored state object; Python's words for NaN and infinities are read as null.
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

/// Reads the values of some keys of a stored state object in one pass; absent keys are left out.
///
/// # Errors
/// When `stored` is not a JSON object.
pub fn values<'k>(stored: &str, keys: &[&'k str]) -> serde_json::Result<BTreeMap<&'k str, StoredValue>> {
    let read = |stored: &str| -> serde_json::Result<_> {
        let object: BTreeMap<Key<'_>, &RawValue> = serde_json::from_str(stored)?;
        let found = keys.iter().filter_map(|key| Some((*key, object.get(&Key(Cow::Borrowed(key)))?)));
        found.map(|(key, raw)| Ok((key, StoredValue::read(raw.get())?))).collect()
    };
    read(stored).or_else(|error| match without_bare_words(stored) {
        Cow::Owned(clean) => read(&clean),
        Cow::Borrowed(_) => Err(error),
    })
}

/// A stored value that operations are applied to.
#[derive(Debug, PartialEq)]
pub struct StoredValue {
    value: Value,
    big_integers: BigIntegers,
}

/// Which integers of more than 64 bits a value contains at any depth. Reading rounds them to floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BigIntegers {
    None,
    /// Each is the exact value of a float, as jsonb writes large floats.
    Floats,
    Rounded,
}

impl StoredValue {
    fn read(text: &str) -> serde_json::Result<Self> {
        Ok(Self { value: serde_json::from_str(text)?, big_integers: BigIntegers::of(text) })
    }

    /// Returns the value, for a storage that keeps the text of every number.
    ///
    /// # Errors
    /// `StateOperation` if it contains big integers, which another program has stored: the result would contain floats instead.
    pub fn exact(self, key: &SessionKey, state_key: &str) -> SessionResult<Value> {
        self.with(BigIntegers::None, key, state_key)
    }

    /// Returns the value, for a storage that writes large floats as integers, as jsonb does.
    ///
    /// # Errors
    /// `StateOperation` if it contains big integers that reading rounds: the result would contain others.
    pub fn by_value(self, key: &SessionKey, state_key: &str) -> SessionResult<Value> {
        self.with(BigIntegers::Floats, key, state_key)
    }

    fn with(self, allowed: BigIntegers, key: &SessionKey, state_key: &str) -> SessionResult<Value> {
        if self.big_integers <= allowed {
            return Ok(self.value);
        }
        Err(SessionError::state_operation(key, state_key, StateOpError::Inexact))
    }
}

impl BigIntegers {
    /// Finds those in a JSON text.
    fn of(text: &str) -> Self {
        let mut worst = Self::None;
        let mut rest = text;
        while let Some(at) = rest.find(|letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit()) {
            rest = &rest[at..];
            let length = if rest.starts_with('"') { string_length(rest) } else { number_length(rest) };
            let (token, behind) = rest.split_at(length);
            worst = worst.max(Self::of_token(token));
            rest = behind;
        }
        worst
    }

    fn of_token(token: &str) -> Self {
        let is_integer = !token.contains(['"', '.', 'e', 'E']);
        if !is_integer || token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok() {
            return Self::None;
        }
        // `to_string` writes all digits of a float.
        let is_float = token.parse::<f64>().is_ok_and(|float| float.to_string() == token);
        if is_float { Self::Floats } else { Self::Rounded }
    }
}

/// Returns whether a JSON text has integers of more than 64 bits.
pub(crate) fn has_big_integers(text: &str) -> bool {
    BigIntegers::of(text) > BigIntegers::None
}

/// Returns the length of the JSON string that a text begins with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Returns the length of the JSON number that a text begins with.
fn number_length(text: &str) -> usize {
    let is_of_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    text.bytes().position(|byte| !is_of_number(byte)).unwrap_or(text.len())
}

/// Writes a delta as the text of a state object.
///
/// # Errors
/// Only those of writing JSON.
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
    // A map also collapses duplicate keys to their last value, as every reader does.
    let mut object: BTreeMap<Key<'_>, &RawValue> = serde_json::from_str(stored)?;
    for (key, value) in delta {
        object.insert(Key(Cow::Borrowed(key)), value);
    }
    serde_json::to_string(&object)
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside strings with `null`.
pub(crate) fn without_bare_words(text: &str) -> Cow<'_, str> {
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
    fn values_are_read_by_key() {
        let stored = r#"{"a": 1, "n": null, "\u00e9": [1.5], "x": {}}"#;
        let found = values(stored, &["a", "n", "é", "missing"]).unwrap();
        let found: Vec<_> = found.into_iter().map(|(key, value)| (key, value.value)).collect();
        assert_eq!(found, [("a", json!(1)), ("n", json!(null)), ("é", json!([1.5]))]);
        assert_eq!(values(r#"{"a": NaN}"#, &["a"]).unwrap()["a"].value, json!(null));
        assert!(values("[]", &["a"]).is_err());
    }

    /// issue 10 B1: an integer that reading rounds is detected at any depth, and no other number is mistaken for one.
    #[test]
    fn big_integers_are_noticed_however_deep() {
        let read = |text: &str| StoredValue::read(text).unwrap();
        let key = SessionKey::new("a", "u", "s");
        for plain in ["1", "-9223372036854775808", "18446744073709551615", "1e300", "1.5", r#""100000000000000000000""#]
        {
            assert_eq!(read(plain).big_integers, BigIntegers::None, "{plain}");
        }
        let quoted = r#"["\\", "\"100000000000000000001", {"100000000000000000001": 1}]"#;
        assert_eq!(read(quoted).big_integers, BigIntegers::None);
        let float = read(r#"[{"a": [1, 100000000000000000000]}]"#);
        assert_eq!(float.big_integers, BigIntegers::Floats);
        assert_eq!(float.by_value(&key, "k").unwrap(), json!([{"a": [1, 1e20]}]));
        let largest = format!("[-{}]", f64::MAX);
        assert_eq!(read(&largest).big_integers, BigIntegers::Floats);
        for rounded in ["100000000000000000001", r#"[0, {"a": -123456789012345678901234567890}]"#] {
            assert!(read(rounded).by_value(&key, "k").is_err(), "{rounded}");
        }
        assert!(read("[100000000000000000000]").exact(&key, "k").is_err());
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
