//! Values as Python prints them, because google-adk puts them into prompts in this form.
// L18

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Returns the text of Python's `str(value)`: a string as it is, and any other value as in `repr(value)`, with sorted
/// keys.
#[must_use]
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => repr(value),
    }
}

/// Returns the text of Python's `repr(value)`: quoted strings, `True`, `None`, `[1, 'a']`, `{'x': 1.0}`. The keys of
/// maps are sorted.
pub(crate) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_quoted(out, text),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                separate(out, place);
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (place, (key, member)) in members.iter().enumerate() {
                separate(out, place);
                write_quoted(out, key);
                out.push_str(": ");
                write(out, member);
            }
            out.push('}');
        }
    }
}

fn separate(out: &mut String, place: usize) {
    if place > 0 {
        out.push_str(", ");
    }
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => out.push_str(&float_text(float)),
        None => out.push_str(&number.to_string()),
    }
}

/// Returns the shortest digits that parse to the same number, with an exponent for numbers below 1e-4 and from 1e16 on.
fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let plain = format!("{float}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// Writes a text in single quotes, or in double quotes if it contains single quotes but no double quotes.
fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter == quote => out.extend(['\\', letter]),
            letter if is_printable(letter) => out.push(letter),
            letter => write_escaped(out, letter),
        }
    }
    out.push(quote);
}

fn write_escaped(out: &mut String, letter: char) {
    let code = u32::from(letter);
    // Writing to a `String` cannot fail.
    let _ = match code {
        0..=0xff => write!(out, "\\x{code:02x}"),
        0x100..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// Returns `true` if a letter is shown as it is. The escapes of the standard library follow the same classes as
/// Python's; after another letter, they do not escape combining marks.
fn is_printable(letter: char) -> bool {
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    let mut behind_another = String::from("a");
    behind_another.push(letter);
    behind_another.escape_debug().nth(1) == Some(letter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Python 3 printed each row.
    #[test]
    fn l18_values_are_printed_as_python_does() {
        for (value, expected) in [
            (json!(null), "None"),
            (json!(true), "True"),
            (json!(7), "7"),
            (json!(18446744073709551615u64), "18446744073709551615"),
            (json!(1.0), "1.0"),
            (json!(-0.0), "-0.0"),
            (json!(1e16), "1e+16"),
            (json!(1e15), "1000000000000000.0"),
            (json!(1.2345678901234568e17), "1.2345678901234568e+17"),
            (json!(1e-5), "1e-05"),
            (json!(0.0001), "0.0001"),
            (json!(1.5e300), "1.5e+300"),
            (json!(0.1 + 0.2), "0.30000000000000004"),
            (json!(5e-324), "5e-324"),
            (json!("it's \n"), "it's \n"),
            (json!([1, "a"]), "[1, 'a']"),
            (json!({"x": 1}), "{'x': 1}"),
            (json!({}), "{}"),
            (json!([[], {"a": [null, false]}]), "[[], {'a': [None, False]}]"),
            (json!(["it's", "q\"", "both'\""]), r#"["it's", 'q"', 'both\'"']"#),
            (json!(["nl\n\t\u{1}\u{7f}\u{80}é\u{200b}😀\\"]), r"['nl\n\t\x01\x7f\x80é\u200b😀\\']"),
            (json!(["\u{378}\u{2028}\u{e000}\u{ad}\u{a0}"]), r"['\u0378\u2028\ue000\xad\xa0']"),
            (json!(["e\u{301}"]), "['e\u{301}']"),
        ] {
            assert_eq!(text(&value), expected);
        }
    }
}
