//! [`kept`]: makes a result that every store can keep. The tool has done its work, so no result is refused.

use pleach_context::ToolResult;
use pleach_core::{
    Blob, DEEPEST_RESULT, FileData, FunctionResponsePart, bounded, nests_within, replace_nul, replace_nul_in,
};
use serde_json::{Value, json};

/// Returns the result with U+FFFD in place of each U+0000. A value that is nested deeper than 121 levels would be too
/// deep in the event of its response, so the model receives an error instead.
pub(super) fn kept(tool: &str, mut result: ToolResult) -> ToolResult {
    if !nests_within(&result.value, DEEPEST_RESULT) {
        tracing::warn!(tool, "the result of the tool is nested too deep for its event: the model receives an error");
        let too_deep = std::mem::replace(&mut result.value, unkept(TOO_DEEP));
        drop(bounded(too_deep));
    }
    if replace_nul(&mut result.value) | replace_nul_in_media(&mut result.media) {
        tracing::warn!(tool, "the result of the tool contains U+0000, which no store accepts: it is replaced");
    }
    result
}

const TOO_DEEP: &str = "it is nested more than 121 levels deep";

/// Returns the result that the model receives if a tool has run but its result cannot be stored.
pub(super) fn unkept(reason: &str) -> Value {
    json!({"error": format!("The tool was called and has ended, but its result cannot be returned: {reason}.")})
}

fn replace_nul_in_media(media: &mut [FunctionResponsePart]) -> bool {
    media.iter_mut().fold(false, |found, part| {
        // Checked field by field, because writing media as JSON would copy them.
        let is_clean = part.extra.is_none()
            && part.media_processing.is_none()
            && part.inline_data.as_ref().is_none_or(is_clean_blob)
            && part.file_data.as_ref().is_none_or(is_clean_file);
        found | (!is_clean && replace_nul_in(part))
    })
}

fn is_clean_blob(Blob { data: _, display_name, mime_type, extra }: &Blob) -> bool {
    extra.is_none() && [display_name, mime_type].into_iter().flatten().all(|text| !text.contains('\0'))
}

fn is_clean_file(FileData { display_name, file_uri, mime_type, extra }: &FileData) -> bool {
    extra.is_none() && [display_name, file_uri, mime_type].into_iter().flatten().all(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> Value {
        let within = |inner: Value, level: usize| match level % 2 {
            0 => Value::Array(vec![inner]),
            _ => Value::Object(pleach_core::Map::from_iter([("a".to_owned(), inner)])),
        };
        (0..levels).fold(Value::from("x"), within)
    }

    #[test]
    fn a_result_is_kept_up_to_the_depth_of_its_event() {
        for levels in (118..=130).chain([10_000, 1_000_000]) {
            let result = kept("f", nested(levels).into());
            let is_error = result.value.get("error").is_some();
            assert_eq!(is_error, levels > 121, "{levels}");
            let response = pleach_core::Part::function_response(result.into_response("c1", "f"));
            pleach_core::check_event(&pleach_core::Event::message(response)).unwrap();
        }
    }

    #[test]
    fn nul_is_replaced_in_values_and_media() {
        let result = ToolResult::from(json!({"a\0": ["\0"]}));
        let result = kept("f", result.with_bytes("image/\0", &b"\0"[..]).with_file("text/plain", "gs://\0"));
        let expected = ToolResult::from(json!({"a\u{fffd}": ["\u{fffd}"]}));
        let expected = expected.with_bytes("image/\u{fffd}", &b"\0"[..]).with_file("text/plain", "gs://\u{fffd}");
        assert!(result == expected);
    }
}
