//! [`OpenApiDocument`]: a document as text or as a value.

use std::fmt;

use serde_json::Value;

use crate::OpenApiSetupError;

/// The maximum size of a document, in bytes. It is four times the size of the largest published documents.
const LARGEST: usize = 64 << 20;
/// The maximum depth of a document, which is serde_json's limit.
const DEEPEST: usize = 127;
/// The maximum number of values of a YAML document, and of values that come from its aliases.
const MOST_NODES: usize = 4_000_000;
const MOST_OF_ALIASES: usize = 200_000;

/// An OpenAPI document: JSON or YAML as text, or a value. Debug output does not show it.
///
/// ```
/// use pleach_openapi::OpenApiDocument;
///
/// let yaml = OpenApiDocument::from("openapi: 3.1.0\ninfo: {title: Pets, version: '1'}\npaths: {}");
/// let value = OpenApiDocument::from(serde_json::json!({"openapi": "3.1.0"}));
/// # let _ = (yaml, value);
/// ```
#[derive(Clone)]
pub struct OpenApiDocument(Source);

#[derive(Clone)]
enum Source {
    Text(String),
    Value(Value),
}

impl OpenApiDocument {
    /// Reads the document.
    pub(crate) fn read(self) -> Result<Value, OpenApiSetupError> {
        let unreadable = |reason: String| OpenApiSetupError::Unreadable { reason };
        let value = match self.0 {
            Source::Value(value) => value,
            Source::Text(text) if text.len() > LARGEST => {
                return Err(unreadable(format!("it is larger than {LARGEST} bytes")));
            }
            Source::Text(text) => parse(text.trim_start_matches('\u{feff}')).map_err(unreadable)?,
        };
        if !nests_within(&value, DEEPEST) {
            return Err(unreadable(format!("it nests more than {DEEPEST} levels deep")));
        }
        Ok(value)
    }
}

fn parse(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        match serde_json::from_str(text) {
            Ok(value) => return Ok(value),
            // Text in braces may be a YAML mapping instead of JSON.
            Err(error) => return yaml(text).map_err(|_| format!("it is no JSON: {error}")),
        }
    }
    yaml(text)
}

fn yaml(text: &str) -> Result<Value, String> {
    let budget = serde_saphyr::budget! {
        max_depth: DEEPEST,
        max_nodes: MOST_NODES,
        max_events: 2 * MOST_NODES,
        max_documents: 1,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_OF_ALIASES },
        // `no` is read as a string, such as the code of a country, and not as false.
        strict_booleans: true,
        // A snippet would show a part of the document.
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.to_string();
        format!("it is no YAML: {}", error.lines().next().unwrap_or_default().trim_start_matches("error: "))
    })
}

fn nests_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| nests_within(item, levels - 1)),
        Value::Object(members) => levels > 0 && members.values().all(|member| nests_within(member, levels - 1)),
        _ => true,
    }
}

impl From<&str> for OpenApiDocument {
    fn from(text: &str) -> Self {
        Self(Source::Text(text.to_owned()))
    }
}

impl From<String> for OpenApiDocument {
    fn from(text: String) -> Self {
        Self(Source::Text(text))
    }
}

impl From<Value> for OpenApiDocument {
    fn from(value: Value) -> Self {
        Self(Source::Value(value))
    }
}

impl fmt::Debug for OpenApiDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenApiDocument")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Result<Value, &str>) {
        let read = OpenApiDocument::from(text).read().map_err(|error| error.to_string());
        match (read, expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected, "{text}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (read, _) => panic!("{text}: {read:?}"),
        }
    }

    #[test]
    fn json_and_yaml_are_told_apart() {
        check("\u{feff} {\"a\": [1, 2.5]}", Ok(json!({"a": [1, 2.5]})));
        check("{a: 1, b: [x]}", Ok(json!({"a": 1, "b": ["x"]})));
        check(
            "a:\n  200: {ok: true}\n  country: no\n  on: 'off'\n",
            Ok(json!({"a": {"200": {"ok": true}, "country": "no", "on": "off"}})),
        );
        check("x: &x {b: 1}\ny:\n  <<: *x\n  c: 2\n", Ok(json!({"x": {"b": 1}, "y": {"b": 1, "c": 2}})));
    }

    #[test]
    fn faults_have_a_place_and_no_text() {
        check("{\"a\": hush]", Err("line 1"));
        check("a: 1\na: hush\n", Err("line 2"));
        check("a: hush: c\n", Err("no YAML"));
        let errors = ["a: hush: c\n", "a: 1\na: hush\n"].map(|text| yaml(text).unwrap_err());
        assert!(!errors.concat().contains("hush"), "{errors:?}");
    }

    #[test]
    fn hostile_documents_are_refused() {
        let nested = |open: &str, close: &str| format!("a: {}{}", open.repeat(20_000), close.repeat(20_000));
        check(&nested("[", "]"), Err("no YAML"));
        check(&format!("{{\"a\": {}", "[".repeat(20_000)), Err("no JSON"));
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{},", level - 1).repeat(10);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(',')));
        }
        check(&bomb, Err("no YAML"));
        let deep = (0..200).fold(json!(1), |value, _| json!([value]));
        let error = OpenApiDocument::from(deep).read().unwrap_err();
        assert!(error.to_string().contains("127 levels"), "{error}");
    }
}
