//! [`StoredValue`]: a stored value to which operations are applied, and how reading has changed it.

use pleach_core::{SessionKey, StateOpError};
use serde_json::Value;

use crate::stored_json::read_stored;
use crate::{SessionError, SessionResult};

/// A stored value to which operations are applied.
#[derive(Debug, PartialEq)]
pub struct StoredValue {
    value: Value,
    loss: Loss,
}

/// How reading changed a value, at any depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loss {
    None,
    /// The value has integers of more than 64 bits that are exact as floats. jsonb writes large floats like this.
    Floats,
    /// The value has text or numbers of other programs that were repaired when read.
    Mended,
    /// The value has integers of more than 64 bits, which were rounded.
    Rounded,
    /// The value cannot be read.
    Everything,
}

impl StoredValue {
    pub(super) fn read(text: &str) -> Self {
        let big_integers = loss_of_integers(text);
        match read_stored(text) {
            Ok(value) => {
                // A value that consists only of NaN or an infinity is read as null, so an operation may replace it.
                let mended = if value != Value::Null && is_mended(text) { Loss::Mended } else { Loss::None };
                Self { value, loss: big_integers.max(mended) }
            }
            Err(_) => Self { value: Value::Null, loss: Loss::Everything },
        }
    }

    /// Returns the value, for a storage that keeps the text of every number.
    ///
    /// # Errors
    /// `StateOperation` if another program stored the value and reading changes it: the result would contain a
    /// different value.
    pub fn exact(self, key: &SessionKey, state_key: &str) -> SessionResult<Value> {
        self.with(Loss::None, key, state_key)
    }

    /// Returns the value, for a storage that writes large floats as integers, as jsonb does.
    ///
    /// # Errors
    /// `StateOperation` if another program stored the value and reading changes it: the result would contain a
    /// different value.
    pub fn by_value(self, key: &SessionKey, state_key: &str) -> SessionResult<Value> {
        self.with(Loss::Floats, key, state_key)
    }

    fn with(self, allowed: Loss, key: &SessionKey, state_key: &str) -> SessionResult<Value> {
        let reason = match self.loss {
            loss if loss <= allowed => return Ok(self.value),
            Loss::None | Loss::Floats | Loss::Rounded => StateOpError::Inexact,
            Loss::Mended | Loss::Everything => StateOpError::Foreign,
        };
        Err(SessionError::state_operation(key, state_key, reason))
    }
}

fn is_mended(text: &str) -> bool {
    matches!(pleach_core::mend_json(text.as_bytes()), std::borrow::Cow::Owned(_))
}

/// Returns `true` if a JSON text has integers of more than 64 bits.
pub(crate) fn has_big_integers(text: &str) -> bool {
    loss_of_integers(text) > Loss::None
}

/// Looks for integers of more than 64 bits in a JSON text, and returns the worst loss.
fn loss_of_integers(text: &str) -> Loss {
    let mut worst = Loss::None;
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit()) {
        rest = &rest[at..];
        let length = if rest.starts_with('"') { string_length(rest) } else { number_length(rest) };
        let (token, behind) = rest.split_at(length);
        worst = worst.max(loss_of_token(token));
        rest = behind;
    }
    worst
}

fn loss_of_token(token: &str) -> Loss {
    let is_integer = !token.contains(['"', '.', 'e', 'E']);
    // `-Infinity` is not an integer.
    if !is_integer || token == "-" || token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok() {
        return Loss::None;
    }
    // `to_string` writes all digits of a float.
    let is_float = token.parse::<f64>().is_ok_and(|float| float.to_string() == token);
    if is_float { Loss::Floats } else { Loss::Rounded }
}

/// Returns the length of the JSON string at the start of a text.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Returns the length of the JSON number at the start of a text.
fn number_length(text: &str) -> usize {
    let is_of_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    text.bytes().position(|byte| !is_of_number(byte)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An integer that reading rounds is detected at any depth, and no other number is mistaken for one.
    #[test]
    fn big_integers_are_noticed_however_deep() {
        let key = SessionKey::new("a", "u", "s");
        for plain in ["1", "-9223372036854775808", "18446744073709551615", "1e300", "1.5", r#""100000000000000000000""#]
        {
            assert_eq!(StoredValue::read(plain).loss, Loss::None, "{plain}");
        }
        let quoted = r#"["\\", "\"100000000000000000001", {"100000000000000000001": 1}]"#;
        assert_eq!(StoredValue::read(quoted).loss, Loss::None);
        let float = StoredValue::read(r#"[{"a": [1, 100000000000000000000]}]"#);
        assert_eq!(float.loss, Loss::Floats);
        assert_eq!(float.by_value(&key, "k").unwrap(), json!([{"a": [1, 1e20]}]));
        let largest = format!("[-{}]", f64::MAX);
        assert_eq!(StoredValue::read(&largest).loss, Loss::Floats);
        for rounded in ["100000000000000000001", r#"[0, {"a": -123456789012345678901234567890}]"#] {
            assert!(StoredValue::read(rounded).by_value(&key, "k").is_err(), "{rounded}");
        }
        assert!(StoredValue::read("[100000000000000000000]").exact(&key, "k").is_err());
    }

    #[test]
    fn an_operation_does_not_rewrite_values_that_only_another_program_can_hold() {
        let key = SessionKey::new("a", "u", "s");
        let refused = |text: &str| match StoredValue::read(text).exact(&key, "k") {
            Err(SessionError::StateOperation { reason, state_key, .. }) => (*reason, state_key),
            other => panic!("{text}: {other:?}"),
        };
        let deep = format!("{}{}", "[".repeat(150), "]".repeat(150));
        for text in [r#"["\ud800"]"#, "[NaN]", r#"["\u0000"]"#, "[1e999]", "[-Infinity, 1]", &deep, "", "tru e"] {
            assert_eq!(refused(text), (StateOpError::Foreign, "k".to_owned()), "{text}");
        }
        assert_eq!(refused(&"9".repeat(401)).0, StateOpError::Inexact);
        for null in ["NaN", "Infinity", "-Infinity", "null"] {
            assert_eq!(StoredValue::read(null).exact(&key, "k").unwrap(), Value::Null);
        }
    }
}
