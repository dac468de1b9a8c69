//! Writes bodies of the type `multipart/form-data`.

use http::HeaderValue;
use serde_json::Value;

use super::ArgumentError;
use super::field::{Field, text};
use crate::document::{Body, Encoding};

/// The maximum number of boundaries that are tried.
const TRIES: usize = 8;

/// Writes a part for each field, and for each item of a list of scalars or files.
pub(super) fn write(
    body: &Body,
    fields: &[Field<'_>],
    boundary: impl Fn() -> String,
) -> Result<(HeaderValue, Vec<u8>), ArgumentError> {
    let mut parts = Vec::new();
    let other = Encoding::default();
    for field in fields {
        let encoding = body.encodings.get(field.name).unwrap_or(&other);
        let items = match field.value {
            Value::Array(items) => items.iter().collect(),
            value => vec![value],
        };
        for item in items {
            let head = head(field.name, encoding, item);
            parts.push((head.map_err(|reason| ArgumentError::invalid(field.arg, reason))?, text(item)));
        }
    }
    let is_free = |boundary: &String| !parts.iter().any(|(_, content)| content.contains(boundary.as_str()));
    let boundary = (0..TRIES).map(|_| boundary()).find(is_free);
    let arg = fields.first().map_or("body", |field| field.arg);
    let boundary = boundary.ok_or_else(|| ArgumentError::invalid(arg, "cannot be sent in parts"))?;
    let mut bytes = String::new();
    for (head, content) in parts {
        bytes.push_str(&format!("--{boundary}\r\n{head}\r\n\r\n{content}\r\n"));
    }
    bytes.push_str(&format!("--{boundary}--\r\n"));
    let content_type = HeaderValue::from_str(&format!("multipart/form-data; boundary={boundary}"));
    let content_type = content_type.map_err(|_| ArgumentError::invalid(arg, "cannot be sent in parts"))?;
    Ok((content_type, bytes.into_bytes()))
}

/// Returns the headers of a part.
fn head(name: &str, encoding: &Encoding, value: &Value) -> Result<String, &'static str> {
    let name = quoted(name);
    let mut head = format!("content-disposition: form-data; name=\"{name}\"");
    if encoding.is_file {
        head.push_str(&format!("; filename=\"{name}\""));
    }
    // If the document allows several types, the first is used.
    let declared = encoding.content_type.as_deref().and_then(|types| types.split(',').next()).map(str::trim);
    let of_value = match value {
        _ if encoding.is_file => Some("application/octet-stream"),
        Value::Object(_) | Value::Array(_) => Some("application/json"),
        _ => None,
    };
    if let Some(content_type) = declared.filter(|declared| !declared.contains('*')).or(of_value) {
        if HeaderValue::from_str(content_type).is_err() {
            return Err("has a content type that no header may have");
        }
        head.push_str(&format!("\r\ncontent-type: {content_type}"));
    }
    Ok(head)
}

/// Encodes the characters that would end a quoted name, as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
