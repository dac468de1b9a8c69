//! [`ToolResult`]: a tool's answer to a call.
// L105

use std::fmt;

use pleach_core::{Blob, Bytes, FileData, FunctionResponse, FunctionResponsePart, Map};
use serde_json::Value;

/// A tool's answer to a call: a value, and media that belong to it. A value alone converts into a `ToolResult`.
///
/// ```
/// use pleach_context::ToolResult;
/// use serde_json::json;
///
/// let chart = ToolResult::from(json!({"title": "Sales"})).with_bytes("image/png", &b"..."[..]);
/// assert_eq!(chart.media.len(), 1);
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct ToolResult {
    /// The value; null means no value. The model gets an object unchanged, and any other value as `{"result": value}`.
    pub value: Value,
    /// Images, sounds and documents for the model, in addition to the value.
    pub media: Vec<FunctionResponsePart>,
    /// The time at which the model should react to the result; `None` leaves it to the provider.
    pub scheduling: Option<Scheduling>,
}

/// The time at which a model reacts to a result that it does not wait for. ADK: `types.FunctionResponseScheduling`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// The model takes note of the result and says nothing.
    Silent,
    /// The model reacts once it is idle.
    WhenIdle,
    /// The model reacts at once.
    Interrupt,
}

impl ToolResult {
    /// Adds media of this IANA media type, sent as bytes.
    #[must_use]
    pub fn with_bytes(mut self, mime_type: impl Into<String>, data: impl Into<Bytes>) -> Self {
        let blob = Blob { data: Some(data.into()), mime_type: Some(mime_type.into()), ..Blob::default() };
        self.media.push(FunctionResponsePart { inline_data: Some(blob), ..FunctionResponsePart::default() });
        self
    }

    /// Adds media of this IANA media type, which the provider loads from this address.
    #[must_use]
    pub fn with_file(mut self, mime_type: impl Into<String>, uri: impl Into<String>) -> Self {
        let file = FileData { file_uri: Some(uri.into()), mime_type: Some(mime_type.into()), ..FileData::default() };
        self.media.push(FunctionResponsePart { file_data: Some(file), ..FunctionResponsePart::default() });
        self
    }

    /// Sets when the model should react.
    #[must_use]
    pub fn with_scheduling(mut self, scheduling: Scheduling) -> Self {
        self.scheduling = Some(scheduling);
        self
    }

    /// Returns true if the result is empty: no media, and a value that Python treats as false. A long-running tool that
    /// returns an empty result has only started something.
    // L106
    pub fn is_falsy(&self) -> bool {
        self.media.is_empty()
            && match &self.value {
                Value::Null | Value::Bool(false) => true,
                Value::Number(number) => number.as_f64() == Some(0.0),
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                Value::Bool(true) => false,
            }
    }

    /// Makes the response to the call `id` of the function `name`.
    pub fn into_response(self, id: impl Into<String>, name: impl Into<String>) -> FunctionResponse {
        let fields = match self.value {
            Value::Object(fields) => fields,
            Value::Null if !self.media.is_empty() => Map::new(),
            other => Map::from_iter([("result".to_owned(), other)]),
        };
        let mut response = FunctionResponse::new(id, name, fields);
        response.parts = (!self.media.is_empty()).then_some(self.media);
        response.scheduling = self.scheduling.map(|scheduling| scheduling.as_str().to_owned());
        response
    }
}

impl From<Value> for ToolResult {
    fn from(value: Value) -> Self {
        Self { value, ..Self::default() }
    }
}

impl Scheduling {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Silent => "SILENT",
            Self::WhenIdle => "WHEN_IDLE",
            Self::Interrupt => "INTERRUPT",
        }
    }
}

/// Shows no content of the result.
impl fmt::Debug for ToolResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolResult")
            .field("media", &self.media.len())
            .field("scheduling", &self.scheduling)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::to_camel;
    use serde_json::json;

    use super::*;

    // Recorded from google-adk 2.13.0 for tools that return parts, alone and in containers.
    #[test]
    fn l105_a_response_has_the_value_and_the_media() {
        let response = |result: ToolResult| to_camel(&result.into_response("c1", "f")).unwrap();
        let image = json!({"inlineData": {"mimeType": "image/png", "data": "cG5n"}});
        let file = json!({"fileData": {"fileUri": "gs://b/f", "mimeType": "text/plain"}});
        let with_image = |value: Value| ToolResult::from(value).with_bytes("image/png", &b"png"[..]);
        for (result, fields, parts) in [
            (with_image(Value::Null), json!({}), json!([image])),
            (with_image(json!([5])), json!({"result": [5]}), json!([image])),
            (with_image(json!({"a": 1})).with_file("text/plain", "gs://b/f"), json!({"a": 1}), json!([image, file])),
        ] {
            let expected = json!({"id": "c1", "name": "f", "response": fields, "parts": parts});
            assert_eq!(response(result), expected);
        }
        let silent = ToolResult::from(json!("x")).with_scheduling(Scheduling::Silent);
        let expected = json!({"id": "c1", "name": "f", "response": {"result": "x"}, "scheduling": "SILENT"});
        assert_eq!(response(silent), expected);
    }

    #[test]
    fn l106_media_are_a_result() {
        assert!(ToolResult::default().is_falsy());
        assert!(!ToolResult::default().with_bytes("image/png", &b"png"[..]).is_falsy());
        let debug = format!("{:?}", ToolResult::from(json!("secret")));
        assert_eq!(debug, "ToolResult { media: 0, scheduling: None, .. }");
    }
}
