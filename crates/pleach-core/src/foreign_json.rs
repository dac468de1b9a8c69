//! Repairs JSON that other programs wrote: it may contain text and numbers that Rust's strings or a store do not
//! allow.
//!
//! This module repairs texts and numbers. It does not repair structure: a missing bracket stays an error.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The replacement for a character that cannot be kept.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Reads JSON that another program wrote, with the repairs of [`mend_json`].
///
/// # Errors
/// Fails if the text is not JSON, or not the JSON of a `T`.
pub fn read_foreign_json<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(&mend_json(text))
}

/// Repairs JSON text so that it can be read and stored.
///
/// | in the text | becomes |
/// | --- | --- |
/// | an escape of a lone surrogate, `\ud83d` | U+FFFD |
/// | U+0000, escaped or not, in a string | U+FFFD |
/// | a byte that is not UTF-8 | U+FFFD |
/// | a raw control character in a string, such as a newline | its escape |
/// | `NaN`, `Infinity`, `-Infinity` | `null` |
/// | a number beyond the range of 64-bit floats, `1e999` | the same digits as a string |
///
/// Text that needs no repair is returned unchanged. An integer that a float can hold approximately is not changed; see
/// [`big_integers_as_strings`].
#[must_use]
pub fn mend_json(text: &[u8]) -> Cow<'_, [u8]> {
    mend(text, is_out_of_range)
}

/// Reads a text that may be JSON, with the repairs of [`big_integers_as_strings`]; `None` for any other text.
///
/// If the whole text is a word such as `NaN`, it is not treated as JSON.
#[must_use]
pub fn json_of_foreign_text(text: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(&big_integers_as_strings(text)).ok()?;
    let is_word = value.is_null() && text.trim_ascii() != b"null";
    (!is_word).then_some(value)
}

/// Repairs JSON text like [`mend_json`]. Also writes each integer that does not fit into 64 bits as a string of its
/// digits, so that no digit is lost.
#[must_use]
pub fn big_integers_as_strings(text: &[u8]) -> Cow<'_, [u8]> {
    mend(text, |number| is_big_integer(number) || is_out_of_range(number))
}

fn mend(text: &[u8], is_written_as_string: impl Fn(&str) -> bool) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(text) {
        Cow::Borrowed(valid) => match Mender::new(valid).run(is_written_as_string) {
            Some(mended) => Cow::Owned(mended.into_bytes()),
            None => Cow::Borrowed(text),
        },
        Cow::Owned(valid) => Cow::Owned(Mender::new(&valid).run(is_written_as_string).unwrap_or(valid).into_bytes()),
    }
}

/// Copies JSON text piece by piece, starting at its first repair.
struct Mender<'a> {
    text: &'a str,
    /// The position of the scan.
    at: usize,
    /// The start of the text that has not been copied yet.
    kept: usize,
    mended: Option<String>,
}

impl<'a> Mender<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, kept: 0, mended: None }
    }

    /// Returns the repaired text; `None` if there is nothing to repair.
    fn run(mut self, is_written_as_string: impl Fn(&str) -> bool) -> Option<String> {
        while let Some(byte) = self.byte(0) {
            match byte {
                b'"' => self.string(),
                b'-' | b'0'..=b'9' | b'N' | b'I' => self.word(&is_written_as_string),
                // Skips `true`, `false` and `null`, so that none of their letters is taken for the start of a word.
                b'a'..=b'z' => self.at += self.rest().bytes().take_while(u8::is_ascii_alphanumeric).count(),
                _ => self.at += 1,
            }
        }
        let mut mended = self.mended?;
        mended.push_str(&self.text[self.kept..]);
        Some(mended)
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Replaces the next `length` bytes with `instead`.
    fn replace(&mut self, length: usize, instead: &str) {
        let mended = self.mended.get_or_insert_default();
        mended.push_str(&self.text[self.kept..self.at]);
        mended.push_str(instead);
        self.at += length;
        self.kept = self.at;
    }

    fn replace_by_char(&mut self, length: usize, instead: char) {
        self.replace(length, instead.encode_utf8(&mut [0; 4]));
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => self.escape(),
                0 => self.replace_by_char(1, REPLACEMENT),
                control @ 1..0x20 => self.replace(1, &format!("\\u{control:04x}")),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) {
        match unicode_escape(self.rest()) {
            Some(0) => self.replace_by_char(6, REPLACEMENT),
            Some(0xd800..=0xdbff)
                if matches!(self.text.get(self.at + 6..).and_then(unicode_escape), Some(0xdc00..=0xdfff)) =>
            {
                self.at += 12;
            }
            Some(0xd800..=0xdfff) => self.replace_by_char(6, REPLACEMENT),
            Some(_) => self.at += 6,
            // Any character may follow the backslash, so continue at a character boundary.
            None => self.at += 1 + self.rest().chars().nth(1).map_or(0, char::len_utf8),
        }
    }

    /// Handles a number, or a word such as `NaN` that Python or JavaScript writes in place of a number.
    fn word(&mut self, is_written_as_string: &impl Fn(&str) -> bool) {
        let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let word = &self.rest()[..self.rest().bytes().take_while(is_inside).count()];
        match word {
            "NaN" | "Infinity" | "-Infinity" => self.replace(word.len(), "null"),
            number if is_written_as_string(number) => {
                let string = format!("\"{number}\"");
                self.replace(number.len(), &string);
            }
            _ => self.at += word.len(),
        }
    }
}

/// Returns the code unit of the escape (`\u` and four digits) at the start of the text.
fn unicode_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    // `from_str_radix` accepts a sign, JSON does not.
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

fn is_out_of_range(number: &str) -> bool {
    is_number(number) && number.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// Returns `true` if a string is an integer, as JSON writes it, that does not fit into 64 bits.
#[must_use]
pub fn is_big_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_integer = is_number(number) && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
}

/// Returns `true` if a word may be a JSON number; `parse` also reads `inf` and `nan`.
fn is_number(word: &str) -> bool {
    word.strip_prefix('-').unwrap_or(word).starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: &str) {
        let mended = mend_json(text.as_bytes());
        assert_eq!(String::from_utf8(mended.into_owned()).unwrap(), expected, "{text}");
    }

    #[test]
    fn lone_surrogates_and_nul_become_the_replacement_character() {
        check(r#"["\ud83d\ude00"]"#, r#"["\ud83d\ude00"]"#);
        check(r#"["a\ud83d"]"#, "[\"a\u{fffd}\"]");
        check(r#"["\ude00\ud83dx"]"#, "[\"\u{fffd}\u{fffd}x\"]");
        check(r#"["\ud83d\ud83d\ude00"]"#, "[\"\u{fffd}\\ud83d\\ude00\"]");
        check(r#"{"\u0000":"\u0000"}"#, "{\"\u{fffd}\":\"\u{fffd}\"}");
        check("[\"\0\"]", "[\"\u{fffd}\"]");
    }

    #[test]
    fn an_escaped_backslash_does_not_begin_an_escape() {
        check(r#"["\\ud83d", "\\\ud83d"]"#, "[\"\\\\ud83d\", \"\\\\\u{fffd}\"]");
        check(r#"["\\u0000 \" \ud83"]"#, r#"["\\u0000 \" \ud83"]"#);
        check("[\"\\ü\"]", "[\"\\ü\"]");
    }

    #[test]
    fn raw_control_characters_of_strings_are_escaped() {
        check("{\n\"a\":\t\"x\ny\"}", "{\n\"a\":\t\"x\\u000ay\"}");
    }

    #[test]
    fn nan_and_infinity_are_null_and_numbers_out_of_range_are_strings() {
        check("[NaN, Infinity, -Infinity, true, null]", "[null, null, null, true, null]");
        check("[\"NaN\", 1e999, -1e999, 1e308]", "[\"NaN\", \"1e999\", \"-1e999\", 1e308]");
        let big = "9".repeat(401);
        check(&format!("{{\"n\":{big}}}"), &format!("{{\"n\":\"{big}\"}}"));
    }

    #[test]
    fn integers_beyond_64_bits_keep_their_digits() {
        let text = "[1234567890123456789012345, -9223372036854775809, 18446744073709551615, 1.5, -7, 12e30]";
        let read: Value = serde_json::from_slice(&big_integers_as_strings(text.as_bytes())).unwrap();
        let expected = json!([
            "1234567890123456789012345",
            "-9223372036854775809",
            18_446_744_073_709_551_615_u64,
            1.5,
            -7,
            12e30
        ]);
        assert_eq!(read, expected);
    }

    #[test]
    fn a_text_that_may_be_json_is_a_value_or_none() {
        for (text, expected) in [
            ("{\"a\": NaN, \"b\": \"x\ny\"}", Some(json!({"a": null, "b": "x\ny"}))),
            (" null ", Some(json!(null))),
            ("1234567890123456789012345", Some(json!("1234567890123456789012345"))),
            ("NaN", None),
            ("-Infinity\n", None),
            ("no", None),
            ("", None),
        ] {
            assert_eq!(json_of_foreign_text(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        let read: Value = read_foreign_json(b"{\"a\": \"x\xff\"}").unwrap();
        assert_eq!(read, json!({"a": "x\u{fffd}"}));
    }

    #[test]
    fn text_without_faults_is_not_copied() {
        assert!(matches!(mend_json(br#"{"a": ["\n\u00e4", 1.5e3, true]}"#), Cow::Borrowed(_)));
    }
}
