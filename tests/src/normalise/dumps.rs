//! Writes JSON exactly as the recorder of the corpus does.
//!
//! The recorded traces contain JSON inside texts, written by Python's encoder with sorted keys. Such texts are equal
//! only if spacing, floats and escapes are the same bytes.

use std::fmt::Write as _;

use serde_json::Value;

/// Spacing and escaping of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    comma: &'static str,
    colon: &'static str,
    ascii: bool,
}

impl Style {
    /// Without spaces, and with characters unescaped: the canonical form of rule N5.
    pub(crate) const COMPACT: Self = Self { comma: ",", colon: ":", ascii: false };
    /// With spaces after separators, and with characters unescaped: for people.
    pub(super) const READABLE: Self = Self { comma: ", ", colon: ": ", ascii: false };
    /// With spaces after separators, and only ASCII: the sort key of log lines (rule N7).
    pub(super) const SORT_KEY: Self = Self { comma: ", ", colon: ": ", ascii: true };
}

/// The value as JSON text with sorted keys.
pub(crate) fn dumps(value: &Value, style: Style) -> String {
    let mut out = String::new();
    write_value(&mut out, value, style);
    out
}

fn write_value(out: &mut String, value: &Value, style: Style) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => match n.as_f64().filter(|_| n.is_f64()) {
            Some(float) => out.push_str(&float_text(float)),
            None => out.push_str(&n.to_string()),
        },
        Value::String(text) => write_text(out, text, style),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(style.comma);
                }
                write_value(out, item, style);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push_str(style.comma);
                }
                write_text(out, key, style);
                out.push_str(style.colon);
                write_value(out, member, style);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str, style: Style) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (style.ascii && c > '~') => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The shortest text that reads back as the same float, in Python's format: fixed between
/// 1e-4 and 1e16, otherwise with an exponent of a sign and at least two digits.
fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let fixed = format!("{float}");
        return if fixed.contains('.') { fixed } else { fixed + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_are_laid_out_as_in_the_recordings() {
        let cases = [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e300, "1.25e+300"),
            (-2.5, "-2.5"),
        ];
        for (float, expected) in cases {
            assert_eq!(float_text(float), expected);
        }
    }

    #[test]
    fn styles_differ_in_blanks_and_escapes() {
        let value = json!({"b": [1, "ü\u{1}"], "a": null});
        assert_eq!(dumps(&value, Style::COMPACT), "{\"a\":null,\"b\":[1,\"ü\\u0001\"]}");
        assert_eq!(dumps(&value, Style::SORT_KEY), "{\"a\": null, \"b\": [1, \"\\u00fc\\u0001\"]}");
        assert_eq!(dumps(&json!("😀"), Style::SORT_KEY), "\"\\ud83d\\ude00\"");
    }
}
