//! Writes a conversation as chat messages.
// L230, L231

use pleach_core::{Bytes, Content, FunctionResponse, Part};
use pleach_model::{LlmRequest, ModelError};
use serde_json::{Map, Value, json};

use crate::history::{CallIds, MISSING_RESULT, base64, bytes, code_as_text, media_as_text, media_type};
use crate::wire::unsupported;

/// Writes the messages of a request: system, user, assistant, tool.
pub(super) fn of(model: &str, request: &LlmRequest) -> Result<Vec<Value>, ModelError> {
    let mut writer = Writer {
        model,
        messages: Vec::new(),
        ids: CallIds::new(|id| !id.is_empty()),
        unanswered: Vec::new(),
        media: Vec::new(),
    };
    if let Some(instruction) = request.config.system_instruction.as_deref().filter(|text| !text.is_empty()) {
        writer.messages.push(json!({"role": "system", "content": instruction}));
    }
    for content in &request.contents {
        match content.role() {
            Some("model" | "assistant") => writer.assistant(content)?,
            _ => writer.user(content)?,
        }
    }
    writer.close_calls();
    Ok(writer.messages)
}

struct Writer<'a> {
    model: &'a str,
    messages: Vec<Value>,
    ids: CallIds,
    /// The calls of the last assistant message that have no tool message yet.
    unanswered: Vec<String>,
    /// The media of tool messages. They are sent after all calls are answered.
    media: Vec<Value>,
}

impl Writer<'_> {
    fn assistant(&mut self, content: &Content) -> Result<(), ModelError> {
        if content.parts().is_empty() {
            return Ok(());
        }
        self.close_calls();
        let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for part in content.parts() {
            if let Some(call) = &part.function_call {
                let name = call.name.as_deref().unwrap_or_default();
                let id = self.ids.of_call(call.id.as_deref(), name);
                let arguments = Value::Object(call.args.clone().unwrap_or_default()).to_string();
                let call = json!({"type": "function", "id": id, "function": {"name": name, "arguments": arguments}});
                calls.push(with_signature(call, part.thought_signature.as_ref()));
                self.unanswered.push(id);
            } else if part.is_thought() {
                thoughts.extend(part.text.clone());
            } else {
                texts.extend(part.text.clone().or_else(|| code_as_text(part)).or_else(|| media_as_text(part)));
            }
        }
        texts.retain(|text| !text.is_empty());
        let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
        let text = (!texts.is_empty()).then(|| texts.join("\n"));
        if text.is_none() && calls.is_empty() && thoughts.is_empty() {
            return Ok(());
        }
        message.insert("content".to_owned(), json!(text));
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        if !thoughts.is_empty() {
            message.insert("reasoning_content".to_owned(), json!(thoughts.join("\n")));
        }
        self.messages.push(Value::Object(message));
        Ok(())
    }

    fn user(&mut self, content: &Content) -> Result<(), ModelError> {
        let mut pieces = Vec::new();
        for part in content.parts() {
            if let Some(response) = &part.function_response {
                self.tool(response);
            } else if !part.is_thought() {
                pieces.extend(self.piece(part)?);
            }
        }
        if pieces.is_empty() {
            return Ok(());
        }
        self.close_calls();
        self.messages.push(user_message(pieces));
        Ok(())
    }

    /// Writes the tool message of a response. Its media are sent after the last tool message.
    fn tool(&mut self, response: &FunctionResponse) {
        let name = response.name.as_deref().unwrap_or_default();
        let id = self.ids.of_response(response.id.as_deref(), name);
        let result = Value::Object(response.response.clone().unwrap_or_default()).to_string();
        self.unanswered.retain(|open| *open != id);
        self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        for media in response.parts.iter().flatten() {
            let part = Part {
                inline_data: media.inline_data.clone().map(Box::new),
                file_data: media.file_data.clone().map(Box::new),
                ..Part::default()
            };
            // The result is stored, so refusing it would fail every later request of the session.
            let as_text = || media_as_text(&part).map(|text| json!({"type": "text", "text": text}));
            let piece = self.piece(&part).unwrap_or_else(|_| as_text());
            self.media.extend(piece);
        }
    }

    /// Writes a result for each call that has none, and then the media of the results.
    fn close_calls(&mut self) {
        for id in self.unanswered.drain(..) {
            self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": MISSING_RESULT}));
        }
        let media = std::mem::take(&mut self.media);
        if !media.is_empty() {
            self.messages.push(user_message(media));
        }
    }

    /// Returns a piece of a user message; `None` for an empty text.
    fn piece(&self, part: &Part) -> Result<Option<Value>, ModelError> {
        if let Some(text) = part.text.clone().or_else(|| code_as_text(part)) {
            return Ok((!text.is_empty()).then(|| json!({"type": "text", "text": text})));
        }
        if let Some(blob) = &part.inline_data {
            let (kind, data) = (media_type(blob), base64(bytes(blob)));
            let uri = || format!("data:{kind};base64,{data}");
            let (family, format) = kind.split_once('/').unwrap_or((&kind, ""));
            return Ok(Some(match (family, format) {
                ("image", _) => json!({"type": "image_url", "image_url": {"url": uri()}}),
                ("video", _) => json!({"type": "video_url", "video_url": {"url": uri()}}),
                ("audio", _) => {
                    let format = match format {
                        "mpeg" => "mp3",
                        "x-wav" | "wave" => "wav",
                        format => format,
                    };
                    json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
                }
                ("text", _) => {
                    let text = String::from_utf8_lossy(bytes(blob)).into_owned();
                    json!({"type": "text", "text": text})
                }
                ("application", "pdf") => {
                    let name = blob.display_name.as_deref().unwrap_or("document.pdf");
                    json!({"type": "file", "file": {"filename": name, "file_data": uri()}})
                }
                _ => {
                    return Err(unsupported(
                        self.model,
                        format!("media of type `{kind}` cannot be sent to this provider"),
                    ));
                }
            }));
        }
        if let Some(file) = &part.file_data {
            return self.file(file.file_uri.as_deref().unwrap_or_default(), file.mime_type.as_deref()).map(Some);
        }
        Ok(None)
    }

    fn file(&self, uri: &str, kind: Option<&str>) -> Result<Value, ModelError> {
        let is_web = uri.starts_with("https://") || uri.starts_with("http://");
        let is_image = kind.is_some_and(|kind| kind.starts_with("image/"));
        match (is_web, is_image) {
            (true, true) => Ok(json!({"type": "image_url", "image_url": {"url": uri}})),
            _ if uri.starts_with("file-") => Ok(json!({"type": "file", "file": {"file_id": uri}})),
            _ => Err(unsupported(
                self.model,
                "a file is neither an image on the web nor the id of an uploaded file (`file-…`): send its bytes",
            )),
        }
    }
}

/// Returns a user message. A single text is its content; anything else becomes a list.
fn user_message(mut pieces: Vec<Value>) -> Value {
    let is_text = pieces.len() == 1 && pieces[0].get("type") == Some(&json!("text"));
    let content = if is_text { pieces[0]["text"].take() } else { Value::Array(pieces) };
    json!({"role": "user", "content": content})
}

/// Adds Gemini's signature, which servers in front of Gemini pass on.
fn with_signature(mut call: Value, signature: Option<&Bytes>) -> Value {
    if let Some(signature) = signature {
        let signature = base64(signature.as_ref());
        call["extra_content"] = json!({"google": {"thought_signature": signature}});
        call["provider_specific_fields"] = json!({"thought_signature": signature});
    }
    call
}
