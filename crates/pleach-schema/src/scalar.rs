//! Conversions between strings, numbers and flags, like those of ADK's lax validation.

use std::borrow::Cow;

use pleach_core::json_of_foreign_text;
use serde_json::Value;

/// Returns the JSON in `text`, repaired like in [`json_of_foreign_text`]. If `text` is not JSON, returns the text
/// itself.
#[must_use]
pub fn json_or_text(text: &str) -> Value {
    json_of_foreign_text(text.as_bytes()).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Reads a whole number from a number without a fraction, from a flag, or from a string of digits.
#[must_use]
pub fn to_int(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => int_of_text(text.trim()),
        Value::Bool(flag) => Some(Value::from(i64::from(*flag))),
        Value::Number(number) if number.is_f64() => number.as_f64().and_then(whole_number),
        Value::Number(_) => Some(value.clone()),
        _ => None,
    }
}

fn int_of_text(text: &str) -> Option<Value> {
    let whole = whole_of_text(text)?;
    let fits = whole.parse::<i64>().map(Value::from).or_else(|_| whole.parse::<u64>().map(Value::from));
    // As everywhere, a number beyond 64 bits is a float (S47).
    fits.ok().or_else(|| whole.parse::<f64>().ok().map(Value::from))
}

/// Returns the sign and digits of a whole number. The string may have a sign, single underscores between digits, and
/// a fraction of zeros, but no exponent and no bare point.
fn whole_of_text(text: &str) -> Option<Cow<'_, str>> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let ends_in_digits = digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.ends_with('_');
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    if !ends_in_digits || !is_whole {
        return None;
    }
    let whole = without_underscores(whole)?;
    whole.bytes().skip(1).all(|byte| byte.is_ascii_digit()).then_some(whole)
}

/// A whole number of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WholeNumber {
    /// The number fits into `i128`.
    Signed(i128),
    /// The number is greater, but fits into `u128`.
    Unsigned(u128),
    /// The number has more than 128 bits.
    Beyond,
}

impl WholeNumber {
    /// Reads the same values as [`to_int`], but keeps every digit.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::of_digits(&whole_of_text(text.trim())?)),
            // A float of more than 64 bits has lost digits, so it is not read as a whole number.
            Value::Bool(_) | Value::Number(_) => to_int(value).map(|whole| Self::of_digits(&whole.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(crate) fn of_digits(digits: &str) -> Self {
        let signed = digits.parse().map(Self::Signed);
        signed.or_else(|_| digits.parse().map(Self::Unsigned)).unwrap_or(Self::Beyond)
    }

    /// Returns `true` if the number is in a range.
    pub(crate) fn is_within(self, least: i128, most: u128) -> bool {
        match self {
            Self::Signed(number) => number >= least && (number < 0 || number.unsigned_abs() <= most),
            Self::Unsigned(number) => number <= most,
            Self::Beyond => false,
        }
    }
}

/// Removes single underscores between digits.
fn without_underscores(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let misplaced = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!misplaced).then(|| Cow::Owned(text.replace('_', "")))
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn whole_number(number: f64) -> Option<Value> {
    (number.fract() == 0.0 && number.abs() < 9.2e18).then(|| Value::from(number as i64))
}

/// Reads a finite number from a number, a flag, or a string.
#[must_use]
pub fn to_float(value: &Value) -> Option<f64> {
    match value {
        // Infinity and NaN have no JSON form.
        Value::String(text) => without_underscores(text.trim())?.parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        other => other.as_f64(),
    }
}
