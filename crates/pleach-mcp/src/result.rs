//! Converts the server's answer to a call into the result for the model.

use pleach_context::ToolResult;
use pleach_core::{Bytes, Map};
use serde_json::{Value, json};

use crate::members::flag;

/// Returns the result of a call: the server's JSON, with `content`, `structuredContent`, `isError` and `meta`, and its
/// binary parts as media.
///
/// # Errors
/// A description of what the server did instead of answering.
pub(crate) fn of(answer: Value) -> Result<ToolResult, &'static str> {
    let mut fields = fields(answer);
    fields.retain(|_, value| !value.is_null());
    if let Some(reason) = no_result(&fields) {
        return Err(reason);
    }
    if fields.get("resultType").and_then(Value::as_str).is_some_and(|kind| kind == "complete") {
        fields.remove("resultType");
    }
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

/// Returns a reason if an answer is not a result yet, because it has only the members of a question or of a task.
fn no_result(fields: &Map) -> Option<&'static str> {
    let has_only = |keys: &[&str]| fields.keys().all(|key| keys.contains(&key.as_str()));
    if fields.get("resultType").and_then(Value::as_str) == Some("input_required")
        && has_only(&["resultType", "inputRequests", "requestState", "task", "_meta"])
    {
        return Some("asks for input in the middle of a call, which it cannot get");
    }
    if fields.get("task").is_some_and(Value::is_object) && has_only(&["task", "resultType", "_meta"]) {
        return Some("answered with a task to wait for, which is not supported");
    }
    None
}

/// Returns the members of a result. If the result is not an object, it becomes the content.
fn fields(answer: Value) -> Map {
    match answer {
        Value::Object(fields) => fields,
        content => Map::from_iter([("content".to_owned(), content)]),
    }
}

/// Returns the blocks of a content, which may also be a single block or a string. Empty entries are left out.
fn blocks(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.into_iter().filter(|block| !block.is_null()).map(block).collect(),
        Value::Null => Vec::new(),
        one => vec![block(one)],
    }
}

/// Returns a block of content. Another value becomes a text block.
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

/// Renames the member `_meta` to `meta`, unless the server uses that name for another member.
fn rename_meta(fields: &mut Map) {
    if !fields.contains_key("meta")
        && let Some(meta) = fields.remove("_meta")
    {
        fields.insert("meta".to_owned(), meta);
    }
}

/// Moves the bytes of a content block to the media. The members that describe the bytes stay.
fn take_media(block: &mut Value, media: &mut Vec<(String, Bytes)>) {
    let Value::Object(block) = block else { return };
    rename_meta(block);
    let (holder, key) = match block.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => (Some(block), "data"),
        Some("resource") => (block.get_mut("resource").and_then(Value::as_object_mut), "blob"),
        _ => return,
    };
    let Some(holder) = holder else { return };
    if !holder.get(key).is_some_and(Value::is_string) {
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the part of a result that the model gets.
    fn given(result: Value) -> Value {
        Value::Object(of(result).unwrap().into_response("c1", "f").response.unwrap())
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn an_odd_content_loses_nothing_else() {
        let structured = json!({"sum": 3});
        for (content, blocks) in [
            (json!(null), json!([])),
            (json!("words"), json!([text("words")])),
            (json!(7), json!([text("7")])),
            (text("words"), json!([text("words")])),
            (json!([null, "words", 7, text("good")]), json!([text("words"), text("7"), text("good")])),
            (
                json!([{"type": "hologram", "depth": 3}, text("good")]),
                json!([{"type": "hologram", "depth": 3}, text("good")]),
            ),
            (
                json!([{"type": "text"}, {"text": "bare"}, {"type": 7}]),
                json!([{"type": "text"}, {"text": "bare"}, {"type": 7}]),
            ),
            (
                json!([{"type": "text", "text": {"a": 1}, "annotations": null}]),
                json!([{"type": "text", "text": {"a": 1}}]),
            ),
            (
                json!([{"type": "image"}, {"type": "image", "data": 7}]),
                json!([{"type": "image"}, {"type": "image", "data": 7}]),
            ),
            (json!([{"type": "resource", "resource": "x"}]), json!([{"type": "resource", "resource": "x"}])),
        ] {
            let expected = json!({"content": blocks, "structuredContent": structured, "isError": false});
            assert_eq!(given(json!({"content": content, "structuredContent": structured})), expected, "{content}");
        }
        assert_eq!(
            given(json!({"structuredContent": [1]})),
            json!({"content": [], "structuredContent": [1], "isError": false})
        );
    }

    #[test]
    fn an_error_is_one_in_whatever_type() {
        for (is_error, expected) in [
            (json!(true), true),
            (json!("true"), true),
            (json!("True"), true),
            (json!(1), true),
            (json!(false), false),
            (json!("false"), false),
            (json!(0), false),
            (json!(null), false),
            (json!([]), false),
            (json!("no"), false),
        ] {
            assert_eq!(given(json!({"content": [], "isError": is_error}))["isError"], expected, "{is_error}");
        }
    }

    #[test]
    fn a_result_that_is_no_object_is_the_content() {
        for (result, blocks) in [
            (json!("words"), json!([text("words")])),
            (json!([text("a"), "b"]), json!([text("a"), text("b")])),
            (json!(7), json!([text("7")])),
            (json!(null), json!([])),
        ] {
            assert_eq!(given(result.clone()), json!({"content": blocks, "isError": false}), "{result}");
        }
        assert_eq!(given(json!({})), json!({"content": [], "isError": false}));
    }

    #[test]
    fn bytes_are_media_wherever_odd_ones_are() {
        let content = json!([{"type": "image", "data": "cG5n", "mimeType": 7}, {"type": "audio", "data": "no!", "mimeType": "audio/wav"}, null]);
        let response = of(json!({"content": content})).unwrap().into_response("c1", "f");
        let media = response.parts.unwrap();
        assert_eq!(media.len(), 1);
        assert_eq!(media[0].inline_data.as_ref().unwrap().mime_type.as_deref(), Some("application/octet-stream"));
        assert_eq!(response.response.unwrap()["content"][1]["error"], "its data is no base64 text");
    }

    #[test]
    fn what_is_no_result_yet_is_an_error() {
        for answer in [
            json!({"resultType": "input_required", "inputRequests": {}}),
            json!({"resultType": "input_required", "requestState": "s", "_meta": {}, "content": null}),
            json!({"task": {"taskId": "t"}}),
            json!({"task": {"taskId": "t"}, "resultType": "task", "_meta": {"a": 1}, "structuredContent": null}),
        ] {
            assert!(of(answer.clone()).is_err(), "{answer}");
        }
    }

    #[test]
    fn an_odd_member_loses_nothing_that_came_with_it() {
        let odd = [
            ("task", json!({"taskId": "t"})),
            ("task", json!("x")),
            ("resultType", json!("input_required")),
            ("resultType", json!("new")),
            ("resultType", json!(7)),
            ("_meta", json!({"a": 1})),
            ("meta", json!([1])),
            ("inputRequests", json!({})),
            ("extra", json!({"b": [null]})),
        ];
        let carried = [
            ("structuredContent", json!({"sum": 3})),
            ("structuredContent", json!([1])),
            ("content", json!([text("words")])),
            ("toolResult", json!(7)),
            ("isError", json!(true)),
        ];
        for (key, value) in &odd {
            for (carried, expected) in &carried {
                let given = given(json!({*key: value, *carried: expected}));
                let name = if *key == "_meta" { "meta" } else { key };
                assert_eq!((&given[name], &given[*carried]), (value, expected), "{key} {value}");
            }
        }
        assert_eq!(
            given(json!({"_meta": {"a": 1}, "resultType": "complete"})),
            json!({"meta": {"a": 1}, "content": [], "isError": false})
        );
        let both = given(json!({"_meta": {"a": 1}, "meta": 2}));
        assert_eq!((&both["_meta"], &both["meta"]), (&json!({"a": 1}), &json!(2)));
    }
}
