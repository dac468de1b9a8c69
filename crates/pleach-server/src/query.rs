//! Reads the parameters of a query string.

use http::Uri;
use serde_json::Value;

use crate::body::{Problem, Step};
use crate::error::ApiError;

/// Returns the last value of a parameter.
pub(crate) fn text(uri: &Uri, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.filter(|(key, _)| key == name).last().map(|(_, value)| value.into_owned())
}

/// Returns a boolean parameter; false if it is absent.
///
/// # Errors
/// 422 for a word that is not a boolean.
pub(crate) fn flag(uri: &Uri, name: &'static str) -> Result<bool, ApiError> {
    let Some(word) = text(uri, name) else { return Ok(false) };
    flag_word(&word).ok_or_else(|| invalid(name, "bool_parsing", "a valid boolean", word))
}

/// Returns an integer parameter; `None` if it is absent.
///
/// # Errors
/// 422 for a word that is not an integer.
pub(crate) fn integer(uri: &Uri, name: &'static str) -> Result<Option<i64>, ApiError> {
    let Some(word) = text(uri, name) else { return Ok(None) };
    integer_word(&word).map(Some).ok_or_else(|| invalid(name, "int_parsing", "a valid integer", word))
}

/// Reads the words for true and false.
pub(crate) fn flag_word(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Reads an integer as Python does: with spaces around it, a sign, single underscores between digits, and a fraction of
/// zeros. Numbers outside the range of `i64` become its limits, which no version has.
pub(crate) fn integer_word(word: &str) -> Option<i64> {
    let word = word.trim();
    let is_zeros = |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    let word = word.split_once('.').filter(|(_, fraction)| is_zeros(fraction)).map_or(word, |(whole, _)| whole);
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let grouped = digits.split('_').all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
    if !grouped {
        return None;
    }
    let end = if word.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(word.replace('_', "").parse().unwrap_or(end))
}

fn invalid(name: &'static str, kind: &'static str, what: &str, word: String) -> ApiError {
    let loc = vec![Step::name("query"), Step::name(name)];
    let msg = format!("Input should be {what}, but the value cannot be read as one");
    ApiError::Invalid(vec![Problem::new(kind, loc, msg).with_input(&Value::String(word))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h79_versions_are_read_as_python_reads_integers() {
        for (word, number) in
            [("0", 0), (" 7 ", 7), ("+3", 3), ("-1", -1), ("1_0", 10), ("1.0", 1), ("99999999999999999999", i64::MAX)]
        {
            assert_eq!(integer_word(word), Some(number), "{word}");
        }
        for word in ["", "x", "1.", "1.5", ".0", "_1", "1__0", "--1", "0x1"] {
            assert_eq!(integer_word(word), None, "{word}");
        }
    }
}
