//! Reads the Python literals that the recording runtime prints into transcripts.
//!
//! Python prints such literals as `{'a': None, 'b': [True, 1.5]}`. Values without a JSON form (sets, byte strings,
//! complex numbers) are refused.

use serde_json::{Map, Number, Value};

/// The value of a literal, or `None` if the text is not a literal.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text };
    let value = reader.value()?;
    reader.skip_blanks();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes `token` after blanks if it is next.
    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.skip_blanks();
        match self.rest.chars().next()? {
            '{' => self.dict(),
            '[' => self.list('[', "]"),
            '(' => self.list('(', ")"),
            '\'' | '"' => self.text().map(Value::String),
            c if c.is_ascii_alphabetic() => self.word(),
            _ => self.number(),
        }
    }

    fn dict(&mut self) -> Option<Value> {
        let mut members = Map::new();
        self.take("{");
        while !self.take("}") {
            let key = key_text(self.value()?)?;
            if !self.take(":") {
                return None;
            }
            members.insert(key, self.value()?);
            if !self.take(",") && !self.rest.trim_start().starts_with('}') {
                return None;
            }
        }
        Some(Value::Object(members))
    }

    fn list(&mut self, open: char, close: &str) -> Option<Value> {
        let mut items = Vec::new();
        self.take(open.encode_utf8(&mut [0; 4]));
        while !self.take(close) {
            items.push(self.value()?);
            if !self.take(",") && !self.rest.trim_start().starts_with(close) {
                return None;
            }
        }
        Some(Value::Array(items))
    }

    fn word(&mut self) -> Option<Value> {
        let words = [("True", Value::Bool(true)), ("False", Value::Bool(false)), ("None", Value::Null)];
        words.into_iter().find_map(|(word, value)| self.take(word).then_some(value))
    }

    fn number(&mut self) -> Option<Value> {
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c))).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Ok(whole) = digits.parse::<i64>() {
            return Some(whole.into());
        }
        if !digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
            return None;
        }
        Number::from_f64(digits.parse().ok()?).map(Value::Number)
    }

    fn text(&mut self) -> Option<String> {
        let mut chars = self.rest.chars();
        let quote = chars.next()?;
        let mut out = String::new();
        loop {
            match chars.next()? {
                c if c == quote => break,
                '\\' => out.push(escape(&mut chars)?),
                c => out.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(out)
    }
}

/// The character of an escape, whose backslash is already taken.
fn escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let c = chars.next()?;
    match c {
        '\\' | '\'' | '"' => Some(c),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'x' => code_point(chars, 2),
        'u' => code_point(chars, 4),
        'U' => code_point(chars, 8),
        _ => None,
    }
}

fn code_point(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let text: String = chars.by_ref().take(digits).collect();
    if text.len() != digits {
        return None;
    }
    char::from_u32(u32::from_str_radix(&text, 16).ok()?)
}

/// A key as JSON writes it. Only texts and plain values can be keys.
fn key_text(key: Value) -> Option<String> {
    match key {
        Value::String(text) => Some(text),
        Value::Array(_) | Value::Object(_) => None,
        plain => Some(plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: Option<Value>) {
        assert_eq!(parse(text), expected, "{text}");
    }

    #[test]
    fn printed_values_are_read() {
        check(
            r#"{'a': None, "b": [True, False, 1.5, -3], 'c': (1,), 2: {}}"#,
            Some(json!({"a": null, "b": [true, false, 1.5, -3], "c": [1], "2": {}})),
        );
        check("[1e+16]", Some(json!([1e16])));
        check(r"['it\'s', 'a\nb', '\xfc\u2026']", Some(json!(["it's", "a\nb", "ü…"])));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["{1, 2}", "[a]", "[1", "{'a' 1}", "[1] x", "[nan]", "{'a': b'x'}", r"['\x1']"] {
            check(text, None);
        }
    }
}
