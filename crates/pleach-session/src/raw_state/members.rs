//! [`members`] and [`items`] split a JSON object or array into the texts of its values.
//!
//! The values are not parsed, only their ends are found. So a value that cannot be read does not hide the others.

use std::borrow::Cow;

use pleach_core::mend_json;

/// A key and its value, as written in the text.
pub(crate) struct Member<'t> {
    /// The key, with its quotes.
    pub(crate) key: &'t str,
    pub(crate) value: &'t str,
}

/// A key of a stored object.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoredKey<'t> {
    /// A key that is not a valid string in Rust, for example because it has a lone surrogate, as written. Two such
    /// keys may look alike when shown.
    Foreign(&'t str),
    Text(Cow<'t, str>),
}

impl<'t> StoredKey<'t> {
    pub(crate) fn of(written: &'t str) -> Self {
        match serde_json::from_str::<String>(written) {
            Ok(key) => Self::Text(Cow::Owned(key)),
            Err(_) => Self::Foreign(written),
        }
    }

    /// Returns the key as readers see it.
    pub(crate) fn shown(&self) -> String {
        let mended = match self {
            Self::Text(key) => return key.replace('\0', "\u{fffd}"),
            Self::Foreign(written) => mend_json(written.as_bytes()),
        };
        // A text with an invalid escape such as `\x` is left as written.
        serde_json::from_slice(&mended).unwrap_or_else(|_| String::from_utf8_lossy(&mended).into_owned())
    }
}

/// Returns the members of an object in order; `None` if the text is not an object.
pub(crate) fn members(text: &str) -> Option<Vec<Member<'_>>> {
    let mut scan = Scan { text, at: 0 };
    let mut members = Vec::new();
    scan.take(b'{')?;
    if scan.take(b'}').is_none() {
        loop {
            scan.skip_blanks();
            let key = scan.string()?;
            scan.take(b':')?;
            let value = scan.value()?;
            members.push(Member { key, value });
            if scan.take(b',').is_none() {
                scan.take(b'}')?;
                break;
            }
        }
    }
    scan.skip_blanks();
    (scan.at == text.len()).then_some(members)
}

/// Returns the items of an array in order; `None` if the text is not an array.
pub(crate) fn items(text: &str) -> Option<Vec<&str>> {
    let mut scan = Scan { text, at: 0 };
    let mut items = Vec::new();
    scan.take(b'[')?;
    if scan.take(b']').is_none() {
        loop {
            items.push(scan.value()?);
            if scan.take(b',').is_none() {
                scan.take(b']')?;
                break;
            }
        }
    }
    scan.skip_blanks();
    (scan.at == text.len()).then_some(items)
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Consumes a character and the blanks before it.
    fn take(&mut self, wanted: u8) -> Option<()> {
        self.skip_blanks();
        (self.byte()? == wanted).then(|| self.at += 1)
    }

    fn string(&mut self) -> Option<&'t str> {
        let start = self.at;
        (self.byte()? == b'"').then_some(())?;
        loop {
            self.at += 1;
            match self.byte()? {
                b'"' => break,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
        self.at += 1;
        self.text.get(start..self.at)
    }

    /// Consumes everything up to the comma or bracket after the value.
    fn value(&mut self) -> Option<&'t str> {
        self.skip_blanks();
        let start = self.at;
        let mut open = Vec::new();
        loop {
            match self.byte()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' => open.push(b'}'),
                b'[' => open.push(b']'),
                b',' | b'}' | b']' if open.is_empty() => break,
                close @ (b'}' | b']') if open.pop()? != close => return None,
                _ => {}
            }
            self.at += 1;
        }
        self.text.get(start..self.at).map(str::trim_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&[(&str, &str)]>) {
        let found = members(text);
        let found = found.map(|found| found.iter().map(|member| (member.key, member.value)).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn each_value_ends_where_it_ends() {
        check("{}", Some(&[]));
        check(" { \"a\" : 1 , \"b\":[1,{\"x\":\"}]\"}] }\n", Some(&[("\"a\"", "1"), ("\"b\"", "[1,{\"x\":\"}]\"}]")]));
        check(r#"{"q\"": "a\\", "\ud800": NaN}"#, Some(&[("\"q\\\"\"", "\"a\\\\\""), ("\"\\ud800\"", "NaN")]));
        check(
            "{\"ä\": \"\n\", \"b\": tru e, \"c\": }",
            Some(&[("\"ä\"", "\"\n\""), ("\"b\"", "tru e"), ("\"c\"", "")]),
        );
        assert_eq!(items(" [1, {\"a\": [2]} ,NaN]"), Some(vec!["1", "{\"a\": [2]}", "NaN"]));
        assert_eq!((items("[]"), items("[1"), items("{}"), items("[1}")), (Some(vec![]), None, None, None));
        let deep = format!("{{\"d\": {}{}, \"e\": 2}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(members(&deep).unwrap()[1].value, "2");
    }

    #[test]
    fn only_objects_have_members() {
        for text in
            ["", "null", "[]", "\"x\"", "{bad", "{\"a\"}", "{\"a\":1", "{\"a\":1}x", "{\"a\":[1}", "{\"a\":1]}", "NaN"]
        {
            check(text, None);
        }
    }

    #[test]
    fn keys_that_are_not_text_are_distinguished_and_shown() {
        let [left, right] = [StoredKey::of(r#""\ud800""#), StoredKey::of(r#""\udc00""#)];
        assert_ne!(left, right);
        assert_eq!((left.shown(), right.shown()), ("\u{fffd}".to_owned(), "\u{fffd}".to_owned()));
        assert_eq!(StoredKey::of(r#""\u00e9""#), StoredKey::Text(Cow::Borrowed("é")));
        assert_eq!(StoredKey::of(r#""a\u0000""#).shown(), "a\u{fffd}");
    }
}
