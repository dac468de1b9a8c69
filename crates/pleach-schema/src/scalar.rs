//! Conversions between texts, numbers and flags, as ADK's lax validation does them.

use std::borrow::Cow;

use serde_json::Value;

/// Returns the JSON that `text` holds, or the text itself.
#[must_use]
pub fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Reads a whole number: from a number without a fraction, a flag, or a text of digits.
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

/// A sign, digits with single underscores between them, a fraction of zeros: no exponent, no bare point.
fn int_of_text(text: &str) -> Option<Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let ends_in_digits = digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.ends_with('_');
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    if !ends_in_digits || !is_whole {
        return None;
    }
    let whole = without_underscores(whole)?;
    let fits = whole.parse::<i64>().map(Value::from).or_else(|_| whole.parse::<u64>().map(Value::from));
    // A number beyond 64 bits is a float, as everywhere (S47).
    fits.ok().or_else(|| {
        whole.bytes().skip(1).all(|byte| byte.is_ascii_digit()).then(|| whole.parse::<f64>().ok())?.map(Value::from)
    })
}

/// Digits may be grouped by single underscores inside of a number.
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

/// Reads a finite number: from a number, a flag, or a text.
#[must_use]
pub fn to_float(value: &Value) -> Option<f64> {
    match value {
        // Infinity and NaN have no JSON form.
        Value::String(text) => without_underscores(text.trim())?.parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        other => other.as_f64(),
    }
}
