//! Resolves references to anchors: `$anchor`, `$dynamicAnchor` and `$recursiveAnchor`.
//!
//! The targets of `$dynamicRef` and `$recursiveRef` may depend on the schema that was entered first. Here all schemas
//! of a document are one resource, so such a reference leads to the nearest enclosing schema with the anchor. If no
//! enclosing schema has it, the reference leads to the only schema in the document that does.

use std::collections::HashMap;

use pleach_core::Map;
use serde_json::Value;

use super::value::member;

/// A reference from one schema to another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reference<'a> {
    /// `$ref`.
    Plain(&'a str),
    /// `$dynamicRef`.
    Dynamic(&'a str),
    /// `$recursiveRef`. Its only value is `#`.
    Recursive,
}

impl<'a> Reference<'a> {
    /// Returns the keyword and the reference of a schema. The reference is `None` if its value is not a string.
    pub(super) fn of(members: &'a Map) -> Option<(&'static str, Option<Self>)> {
        let text = |keyword: &str| members.get(keyword).map(Value::as_str);
        if let Some(reference) = text("$ref") {
            return Some(("$ref", reference.map(Self::Plain)));
        }
        if let Some(reference) = text("$dynamicRef") {
            return Some(("$dynamicRef", reference.map(Self::Dynamic)));
        }
        let recursive = |text: &'a str| if text == "#" { Self::Recursive } else { Self::Plain(text) };
        text("$recursiveRef").map(|reference| ("$recursiveRef", reference.map(recursive)))
    }

    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Plain(text) | Self::Dynamic(text) => text,
            Self::Recursive => "#",
        }
    }
}

/// Returns the name of the anchor if a reference consists of an anchor only.
pub(super) fn anchor_of(reference: &str) -> Option<&str> {
    reference.strip_prefix('#').filter(|name| !name.is_empty() && !name.starts_with('/'))
}

/// The places of the anchors of a document, by name.
#[derive(Debug, Default)]
pub(super) struct Anchors(HashMap<String, Vec<String>>);

impl Anchors {
    /// Finds the anchors. The recursion ends because the depth of a document is limited.
    pub(super) fn of(root: &Value) -> Self {
        let mut anchors = Self::default();
        anchors.add(root, &mut String::new());
        anchors
    }

    fn add(&mut self, value: &Value, pointer: &mut String) {
        let length = pointer.len();
        match value {
            Value::Object(members) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = members.get(keyword) {
                        self.0.entry(name.clone()).or_default().push(pointer.clone());
                    }
                }
                for (name, value) in members {
                    pointer.push_str(&member("", name));
                    self.add(value, pointer);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{index}"));
                    self.add(item, pointer);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Returns the place of the schema that has an anchor, for a reference at `at`: the nearest enclosing schema or,
    /// without one, the only schema in the document.
    pub(super) fn find(&self, name: &str, at: &str) -> Option<&str> {
        let places = self.0.get(name)?;
        let around = places.iter().filter(|place| is_inside(at, place)).max_by_key(|place| place.len());
        around.or_else(|| places.first().filter(|_| places.len() == 1)).map(String::as_str)
    }
}

fn is_inside(at: &str, place: &str) -> bool {
    at.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the target of a `$recursiveRef` at `at`: the nearest enclosing schema with `$recursiveAnchor` or, without
/// one, the whole schema that contains it.
pub(super) fn recursive_root(root: &Value, at: &str) -> String {
    let mut around = Some(at);
    while let Some(place) = around {
        let anchor = root.pointer(place).and_then(|schema| schema.get("$recursiveAnchor"));
        if anchor == Some(&Value::Bool(true)) {
            return place.to_owned();
        }
        around = place.rfind('/').map(|end| &place[..end]);
    }
    whole(at).to_owned()
}

/// Returns the place of the whole schema that contains a place: a shared schema, or the `schema` of a parameter or
/// content.
fn whole(at: &str) -> &str {
    let ends: Vec<usize> = at.match_indices('/').map(|(end, _)| end).skip(1).chain([at.len()]).collect();
    let segments: Vec<&str> = at.split('/').skip(1).collect();
    let last = match segments.as_slice() {
        ["components", "schemas", _, ..] => Some(2),
        segments => segments.iter().skip(3).position(|segment| *segment == "schema").map(|index| index + 3),
    };
    last.and_then(|last| ends.get(last)).map_or(at, |end| &at[..*end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_recursive_reference_leads_to_the_nearest_anchor_or_the_whole_schema() {
        let document = json!({"components": {"schemas": {
            "A": {"properties": {"b": {"$recursiveAnchor": true, "items": {"$recursiveRef": "#"}}, "c": {"$recursiveRef": "#"}}},
        }}});
        for (at, expected) in [
            ("/components/schemas/A/properties/b/items", "/components/schemas/A/properties/b"),
            ("/components/schemas/A/properties/c", "/components/schemas/A"),
            (
                "/paths/~1a/post/requestBody/content/application~1json/schema/properties/schema",
                "/paths/~1a/post/requestBody/content/application~1json/schema",
            ),
        ] {
            assert_eq!(recursive_root(&document, at), expected);
        }
    }

    #[test]
    fn an_anchor_is_that_around_the_reference_or_the_only_one() {
        let document =
            json!({"a": {"$dynamicAnchor": "n", "x": {}}, "ab": {"$dynamicAnchor": "n"}, "c": {"$anchor": "m"}});
        let anchors = Anchors::of(&document);
        assert_eq!(anchors.find("n", "/a/x"), Some("/a"));
        assert_eq!(anchors.find("n", "/ab/x"), Some("/ab"));
        assert_eq!(anchors.find("n", "/c"), None);
        assert_eq!(anchors.find("m", "/a/x"), Some("/c"));
        assert_eq!(anchors.find("o", "/a/x"), None);
    }
}
