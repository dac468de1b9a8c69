//! What a model gets of the result of a call.

use pleach_context::ToolResult;
use pleach_core::{Bytes, Map};
use serde_json::{Value, json};

use crate::connection::flag;

/// Returns the result of a call: the server's JSON, with `content`, `structuredContent`, `isError` and `meta`, and its binary parts as
/// media.
///
/// # Errors
/// What the server did instead of answering.
pub(crate) fn of(answer: Value) -> Result<ToolResult, &'static str> {
    let mut fields = fields(answer);
    if fields.get("resultType").and_then(Value::as_str) == Some("input_required") {
        return Err("asks for input in the middle of a call, which it cannot get");
    }
    if fields.get("task").is_some_and(Value::is_object) && !fields.contains_key("content") {
        return Err("answered with a task to wait for, which is not supported");
    }
    fields.remove("resultType");
    fields.retain(|_, value| !value.is_null());
    rename_meta(&mut fields);
    let is_error = flag(&fields, "isError").unwrap_or(false);
    fields.insert("isError".to_owned(), is_error.into());
    let mut blocks = blocks(fields.remove("content").unwrap_or_default());
    let mut media = Vec::new();
    blocks.iter_mut().for_each(|block| take_media(block, &mut media));
    fields.insert("content".to_owned(), blocks.into());
    let result = ToolResult::from(Value::Object(fields));
    Ok(media.into_iter().fold(result, |result, (mime_type, data)| result.with_bytes(mime_type, data)))
}

/// Returns the members of a result. A result that is no object is the content.
fn fields(answer: Value) -> Map {
    match answer {
        Value::Object(fields) => fields,
        content => Map::from_iter([("content".to_owned(), content)]),
    }
}

/// Returns the blocks of a content, which may be a single block or a text. Entries that say nothing are left out.
fn blocks(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.into_iter().filter(|block| !block.is_null()).map(block).collect(),
        Value::Null => Vec::new(),
        one => vec![block(one)],
    }
}

/// Returns a block of content; a value that is none as its text.
fn block(value: Value) -> Value {
    match value {
        Value::Object(mut block) => {
            block.retain(|_, value| !value.is_null());
            Value::Object(block)
        }
        Value::String(text) => json!({"type": "text", "text": text}),
        other => json!({"type": "text", "text": other.to_string()}),
    }
}

/// The name that members have after they were read.
fn rename_meta(fields: &mut Map) {
    if let Some(meta) = fields.remove("_meta") {
        fields.insert("meta".to_owned(), meta);
    }
}

/// Moves the bytes of a block of content to the media. What describes them stays.
fn take_media(block: &mut Value, media: &mut Vec<(String, Bytes)>) {
    let Value::Object(block) = block else { return };
    rename_meta(block);
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
