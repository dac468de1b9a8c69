//! [`PathTemplate`]: a path with placeholders for parameters. A value cannot change other segments.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// The characters that a path must encode. `%` is not one of them: the document may contain encoded parts.
const OF_DOCUMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'\\')
    .add(b'^')
    .add(b'|');

/// A path with placeholders for parameters, and the query that the document appends to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTemplate {
    parts: Vec<Part>,
    /// The query of the document, percent-encoded. It is empty if there is none.
    pub(crate) query: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Name(String),
}

impl PathTemplate {
    /// Reads a path of a document. Some documents distinguish equal paths by a fragment after `#`, which is not sent.
    ///
    /// # Errors
    /// The reason why the path cannot be used.
    pub(crate) fn read(path: &str) -> Result<Self, &'static str> {
        if !path.starts_with('/') {
            return Err("does not begin with `/`");
        }
        let path = path.split('#').next().unwrap_or_default();
        let (mut rest, query) = path.split_once('?').unwrap_or((path, ""));
        if query.contains(['{', '}']) {
            return Err("has a parameter behind its `?`: declare it as a query parameter");
        }
        let literal = |text: &str| utf8_percent_encode(text, OF_DOCUMENT).to_string();
        let mut parts = Vec::new();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { return Err("has a `{` without `}`") };
            if name.is_empty() || name.contains(['{', '/']) {
                return Err("has a parameter whose name is empty or contains `/` or `{`");
            }
            parts.push(Part::Literal(literal(before)));
            parts.push(Part::Name(name.to_owned()));
            rest = after;
        }
        parts.push(Part::Literal(literal(rest)));
        let literals = parts.iter().map(|part| if let Part::Literal(text) = part { text.as_str() } else { "x" });
        if has_dots(&literals.collect::<String>()) {
            return Err("has a segment `.` or `..`");
        }
        Ok(Self { parts, query: literal(query) })
    }

    /// Returns the names of the parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Name(name) => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// Replaces the placeholders by encoded values.
    ///
    /// # Errors
    /// The values and the document's text form a segment that is empty, `.` or `..`.
    pub(crate) fn filled(&self, values: &BTreeMap<&str, String>) -> Result<String, &'static str> {
        let parts = self.parts.iter().map(|part| match part {
            Part::Literal(text) => text.as_str(),
            Part::Name(name) => values.get(name.as_str()).map(String::as_str).unwrap_or_default(),
        });
        let filled: String = parts.collect();
        if has_dots(&filled) { Err("makes a path segment of dots") } else { Ok(filled) }
    }
}

/// Returns the reason why servers and proxies may read a value as another path: it is empty, or has a segment `.` or
/// `..`. Some of them resolve such segments even after decoding `%2F`.
pub(crate) fn fault_of_value(value: &str) -> Option<&'static str> {
    if value.is_empty() {
        return Some("is empty, and it is a part of the path");
    }
    let has_dots = has_dots(value);
    has_dots.then_some("is a part of the path, and has a segment `.` or `..`")
}

/// Returns true if a text has a segment of dots, however often it is decoded. Some servers read `\\` as `/`, and remove
/// parameters that begin with `;`.
fn has_dots(text: &str) -> bool {
    let mut text = text.to_owned();
    loop {
        let mut segments = text.split(['/', '\\']).map(|segment| segment.split(';').next().unwrap_or_default());
        if segments.any(|segment| segment == "." || segment == "..") {
            return true;
        }
        let decoded = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        // Every round except the last one makes the text shorter.
        if decoded == text {
            return false;
        }
        text = decoded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_names_and_a_query() {
        let read = |path: &str| {
            let template = PathTemplate::read(path)?;
            Ok((template.names().map(str::to_owned).collect::<Vec<_>>(), template.query))
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (path, expected) in [
            ("/", Ok((names(&[]), String::new()))),
            ("/pets/{petId}.{format}", Ok((names(&["petId", "format"]), String::new()))),
            ("/pets?kind=a dog#2", Ok((names(&[]), "kind=a%20dog".to_owned()))),
            ("pets", Err("does not begin with `/`")),
            ("/pets/{id", Err("has a `{` without `}`")),
            ("/pets/../admin", Err("has a segment `.` or `..`")),
            ("/pets/%2e%2E/admin", Err("has a segment `.` or `..`")),
            ("/pets?id={id}", Err("has a parameter behind its `?`: declare it as a query parameter")),
        ] {
            assert_eq!(read(path), expected, "{path}");
        }
        assert!(PathTemplate::read("/a/{}").is_err());
    }

    #[test]
    fn values_stay_in_their_segment() {
        for value in [
            "",
            ".",
            "..",
            "../admin",
            "a/../b",
            "a\\..\\b",
            "%2e%2e",
            "./x",
            "%2e%2e%2fadmin",
            "x%2F..%2Fadmin",
            "..%5cadmin",
            "%252e%252e/x",
            "..;/admin",
            ".;a=1",
        ] {
            assert!(fault_of_value(value).is_some(), "{value}");
        }
        for value in ["file..txt", ".gitignore", "projects/p/locations/l", "a b?c#d"] {
            assert_eq!(fault_of_value(value), None, "{value}");
        }
        let template = PathTemplate::read("/a/{x}{y}/b").unwrap();
        assert!(template.filled(&BTreeMap::from([("x", ".".to_owned()), ("y", ".".to_owned())])).is_err());
        let values = BTreeMap::from([("x", "1".to_owned()), ("y", "%2F".to_owned())]);
        assert_eq!(template.filled(&values).unwrap(), "/a/1%2F/b");
    }
}
