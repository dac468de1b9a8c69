//! What a model gets of the result of a call.

use pleach_context::ToolResult;
use pleach_core::{Bytes, Map};
use rmcp::model::ServerResult;
use serde_json::Value;

/// Returns the result of a call: the server's JSON, with `content`, `structuredContent`, `isError` and `meta`, and its binary parts as
/// media.
///
/// # Errors
/// What the server did instead of answering.
pub(crate) fn of(answer: ServerResult) -> Result<ToolResult, &'static str> {
    let fields = match answer {
        ServerResult::CallToolResult(result) => serde_json::to_value(result).ok(),
        ServerResult::EmptyResult(_) => Some(Value::Object(Map::new())),
        // A result with a kind of content that rmcp does not know.
        ServerResult::CustomResult(result) => Some(result.0),
        ServerResult::InputRequiredResult(_) => {
            return Err("asks for input in the middle of a call, which it cannot get");
        }
        ServerResult::CreateTaskResult(_) => return Err("answered with a task to wait for, which is not supported"),
        _ => None,
    };
    let Some(Value::Object(mut fields)) = fields else {
        return Err("answered with something that is no result of a tool");
    };
    fields.remove("resultType");
    if let Some(meta) = fields.remove("_meta") {
        fields.insert("meta".to_owned(), meta);
    }
    let is_error = fields.get("isError") == Some(&Value::Bool(true));
    fields.insert("isError".to_owned(), is_error.into());
    let mut media = Vec::new();
    match fields.entry("content").or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(blocks) => blocks.iter_mut().for_each(|block| take_media(block, &mut media)),
        _ => return Err("answered with a content that is no list"),
    }
    let result = ToolResult::from(Value::Object(fields));
    Ok(media.into_iter().fold(result, |result, (mime_type, data)| result.with_bytes(mime_type, data)))
}

/// Moves the bytes of a block of content to the media. What describes them stays.
fn take_media(block: &mut Value, media: &mut Vec<(String, Bytes)>) {
    let Value::Object(block) = block else { return };
    if let Some(meta) = block.remove("_meta") {
        block.insert("meta".to_owned(), meta);
    }
    let (holder, key) = match block.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => (Some(block), "data"),
        Some("resource") => (block.get_mut("resource").and_then(Value::as_object_mut), "blob"),
        _ => return,
    };
    let Some(holder) = holder else { return };
    let Some(Value::String(text)) = holder.remove(key) else { return };
    match Bytes::from_base64(&text) {
        Ok(data) => {
            let mime_type = holder.get("mimeType").and_then(Value::as_str).unwrap_or("application/octet-stream");
            media.push((mime_type.to_owned(), data));
        }
        Err(_) => {
            holder.insert("error".to_owned(), format!("its {key} is no base64 text").into());
        }
    }
}
