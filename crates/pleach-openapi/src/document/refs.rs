//! [`Document`]: the value of a document, its version, and the targets of its references.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::value::Object;
use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// The maximum length of a chain of references.
const LONGEST_CHAIN: usize = 32;

/// A document whose version is supported.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) root: Value,
    /// Whether the version is 3.1, whose schemas are JSON Schema 2020-12. Schemas of 3.0 have keywords of their own.
    pub(crate) is_3_1: bool,
}

impl Document {
    /// Checks the version.
    pub(crate) fn new(root: Value, faults: &mut Faults) -> Option<Self> {
        let object = Object::of(&root, "", faults)?;
        let version = match (object.get("openapi"), object.get("swagger")) {
            (Some(Value::String(version)), _) => version.clone(),
            (Some(other), _) => other.to_string(),
            (None, Some(swagger)) => format!("Swagger {}", swagger.as_str().unwrap_or("2.0")),
            (None, None) => {
                faults.add("", OpenApiFaultKind::Missing("openapi"));
                return None;
            }
        };
        let is =
            |minor: &str| version == minor || version.strip_prefix(minor).is_some_and(|rest| rest.starts_with('.'));
        let is_3_1 = is("3.1");
        if !is_3_1 && !is("3.0") {
            faults.add("/openapi", OpenApiFaultKind::Version(version));
            return None;
        }
        Some(Self { root, is_3_1 })
    }

    /// Follows a reference object and the references that it leads to. A value that is not a reference is returned
    /// unchanged.
    pub(crate) fn resolve<'d>(
        &'d self,
        value: &'d Value,
        pointer: String,
    ) -> Result<(&'d Value, String), OpenApiFaultKind> {
        let (mut value, mut pointer) = (value, pointer);
        for _ in 0..LONGEST_CHAIN {
            match value.get("$ref") {
                Some(Value::String(reference)) => {
                    pointer = pointer_of(reference)?;
                    value =
                        self.root.pointer(&pointer).ok_or_else(|| OpenApiFaultKind::DanglingRef(shown(reference)))?;
                }
                Some(_) => return Err(OpenApiFaultKind::Expected("an object whose `$ref` is a string")),
                None => return Ok((value, pointer)),
            }
        }
        Err(OpenApiFaultKind::RefCycle(value.get("$ref").and_then(Value::as_str).map(shown).unwrap_or_default()))
    }

    /// Follows references to an object.
    pub(crate) fn object<'d>(&'d self, value: &'d Value, pointer: String, faults: &mut Faults) -> Option<Object<'d>> {
        let resolved = self.resolve(value, pointer.clone());
        let (value, pointer) = faults.take(&pointer, resolved)?;
        Object::of(value, pointer, faults)
    }
}

/// Returns the JSON pointer of a reference.
pub(crate) fn pointer_of(reference: &str) -> Result<String, OpenApiFaultKind> {
    let Some(fragment) = reference.strip_prefix('#') else {
        return Err(OpenApiFaultKind::RemoteRef(shown(reference)));
    };
    let pointer =
        percent_decode_str(fragment).decode_utf8().map_err(|_| OpenApiFaultKind::UnsupportedRef(shown(reference)))?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(OpenApiFaultKind::UnsupportedRef(shown(reference)));
    }
    Ok(pointer.into_owned())
}

/// Returns the beginning of a string of the document, for errors.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
