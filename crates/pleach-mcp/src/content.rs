//! Converts content blocks of servers to parts of messages.

use pleach_core::{Bytes, FileData, Part};
use serde_json::Value;

/// Returns the part for a content block: text for text, media for bytes, a file for a link. Returns `None` if the bytes
/// are not valid base64, or if there is no part for the kind of block.
pub(crate) fn part(block: &Value) -> Option<Part> {
    if let Value::String(text) = block {
        return Some(Part::text(text.clone()));
    }
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    match text("type") {
        Some("text") | None => text("text").map(Part::text),
        Some("image") => bytes(text("mimeType").unwrap_or(UNKNOWN), text("data")?),
        Some("audio") => bytes(text("mimeType").unwrap_or(UNKNOWN), text("data")?),
        Some("resource") => resource_part(block.get("resource")?).ok(),
        Some("resource_link") => {
            let file = FileData {
                file_uri: Some(text("uri")?.to_owned()),
                mime_type: text("mimeType").map(str::to_owned),
                display_name: text("name").map(str::to_owned),
                ..FileData::default()
            };
            Some(Part { file_data: Some(Box::new(file)), ..Part::default() })
        }
        Some(_) => None,
    }
}

/// The media type of bytes if the server names none.
const UNKNOWN: &str = "application/octet-stream";

/// Returns the contents of a resource as a part.
///
/// # Errors
/// The reason why the contents cannot be read.
pub(crate) fn resource_part(contents: &Value) -> Result<Part, &'static str> {
    let text = |key: &str| contents.get(key).and_then(Value::as_str);
    match (text("text"), text("blob")) {
        (Some(text), _) => Ok(Part::text(text)),
        (None, Some(blob)) => {
            let part = bytes(text("mimeType").unwrap_or(UNKNOWN), blob);
            part.ok_or("has a resource whose bytes are not valid base64")
        }
        (None, None) => Err("has a resource that is neither text nor bytes"),
    }
}

fn bytes(mime_type: &str, base64: &str) -> Option<Part> {
    Bytes::from_base64(base64).ok().map(|data| Part::bytes(mime_type, data))
}
