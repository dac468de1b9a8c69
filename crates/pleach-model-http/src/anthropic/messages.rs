//! Writes a conversation as messages of content blocks.

use pleach_core::{Blob, Content, FunctionResponse, Part};
use pleach_model::{LlmRequest, ModelError};
use serde_json::{Value, json};

use crate::history::{CallIds, MISSING_RESULT, base64, bytes, code_as_text, media_as_text, media_type};
use crate::wire::unsupported;

/// Writes the messages of a request, alternating between user and assistant.
pub(super) fn of(model: &str, request: &LlmRequest) -> Result<Vec<Value>, ModelError> {
    let takes = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let mut writer = Writer { model, turns: Vec::new(), ids: CallIds::new(takes) };
    for content in &request.contents {
        match content.role() {
            Some("model" | "assistant") => writer.assistant(content),
            _ => writer.user(content)?,
        }
    }
    let mut messages = Vec::new();
    let mut unanswered = Vec::new();
    for turn in writer.turns {
        messages.push(turn.into_message(&mut unanswered));
    }
    if !unanswered.is_empty() {
        messages.push(Turn { is_user: true, ..Turn::default() }.into_message(&mut unanswered));
    }
    Ok(messages)
}

/// Consecutive contents of one role.
#[derive(Default)]
struct Turn {
    is_user: bool,
    /// The results of the calls of the previous turn. They have to come first.
    results: Vec<(String, Value)>,
    blocks: Vec<Value>,
    calls: Vec<String>,
}

impl Turn {
    /// Writes the message, with a result for each open call, and returns the calls that it makes.
    fn into_message(mut self, unanswered: &mut Vec<String>) -> Value {
        let mut blocks: Vec<Value> = Vec::new();
        for id in unanswered.drain(..) {
            let place = self.results.iter().position(|(answered, _)| *answered == id);
            blocks.push(match place {
                Some(place) => self.results.remove(place).1,
                None => result_block(&id, json!(MISSING_RESULT), true),
            });
        }
        blocks.extend(self.results.into_iter().map(|(_, block)| block));
        blocks.append(&mut self.blocks);
        *unanswered = self.calls;
        json!({"role": if self.is_user { "user" } else { "assistant" }, "content": blocks})
    }
}

struct Writer<'a> {
    model: &'a str,
    turns: Vec<Turn>,
    ids: CallIds,
}

impl Writer<'_> {
    /// Returns the turn of a role: the last turn if it has that role, otherwise a new one.
    fn turn(&mut self, is_user: bool) -> &mut Turn {
        // The provider expects a user turn with results after each turn with calls. If the history has no such turn, an
        // empty one is inserted here, and `into_message` fills in the missing results.
        if self.turns.last().is_none_or(|turn| turn.is_user != is_user || (!is_user && !turn.calls.is_empty())) {
            if !is_user && self.turns.last().is_some_and(|turn| !turn.is_user) {
                self.turns.push(Turn { is_user: true, ..Turn::default() });
            }
            self.turns.push(Turn { is_user, ..Turn::default() });
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    fn assistant(&mut self, content: &Content) {
        let mut blocks = Vec::new();
        let mut calls = Vec::new();
        for part in content.parts() {
            if let Some(call) = &part.function_call {
                let name = call.name.as_deref().unwrap_or_default();
                let id = self.ids.of_call(call.id.as_deref(), name);
                let input = Value::Object(call.args.clone().unwrap_or_default());
                blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                calls.push(id);
            } else if part.is_thought() {
                blocks.extend(thinking(part));
            } else {
                let text = part.text.clone().or_else(|| code_as_text(part)).or_else(|| media_as_text(part));
                blocks.extend(text.and_then(text_block));
            }
        }
        if !blocks.is_empty() {
            let turn = self.turn(false);
            turn.blocks.append(&mut blocks);
            turn.calls.append(&mut calls);
        }
    }

    fn user(&mut self, content: &Content) -> Result<(), ModelError> {
        let (mut results, mut blocks) = (Vec::new(), Vec::new());
        for part in content.parts().iter().filter(|part| !part.is_thought()) {
            if let Some(response) = &part.function_response {
                let id = self.ids.of_response(response.id.as_deref(), response.name.as_deref().unwrap_or_default());
                let block = result_block(&id, result(response), false);
                results.push((id, block));
            } else if let Some(text) = part.text.clone().or_else(|| code_as_text(part)) {
                blocks.extend(text_block(text));
            } else if let Some(blob) = &part.inline_data {
                blocks.push(self.media(blob)?);
            } else if let Some(file) = &part.file_data {
                let uri = file.file_uri.as_deref().unwrap_or_default();
                blocks.push(self.file(uri, file.mime_type.as_deref())?);
            }
        }
        // The provider refuses a turn without blocks, so a content with only blank texts is sent as ".".
        if blocks.is_empty() && results.is_empty() && !content.parts().is_empty() {
            blocks.extend(text_block(".".to_owned()));
        }
        if !blocks.is_empty() || !results.is_empty() {
            let turn = self.turn(true);
            turn.results.append(&mut results);
            turn.blocks.append(&mut blocks);
        }
        Ok(())
    }

    fn media(&self, blob: &Blob) -> Result<Value, ModelError> {
        media_block(blob).ok_or_else(|| {
            let kind = media_type(blob);
            unsupported(self.model, format!("media of type `{kind}` cannot be sent to this provider"))
        })
    }

    fn file(&self, uri: &str, kind: Option<&str>) -> Result<Value, ModelError> {
        let block = match kind {
            Some(kind) if kind.starts_with("image/") => "image",
            Some("application/pdf") => "document",
            _ => "",
        };
        if block.is_empty() || !uri.starts_with("https://") {
            let message = "a file is neither an image nor a PDF at an `https://` address: send its bytes";
            return Err(unsupported(self.model, message));
        }
        Ok(json!({"type": block, "source": {"type": "url", "url": uri}}))
    }
}

/// Returns the block of a thought, with its signature unchanged. A thought without a text becomes a redacted block; a
/// thought with an empty text becomes an ordinary block. Returns `None` if the thought has no signature, or one that is
/// not valid UTF-8: such a thought comes from another model.
fn thinking(part: &Part) -> Option<Value> {
    let signature = std::str::from_utf8(part.thought_signature.as_ref()?.as_ref()).ok()?;
    match &part.text {
        Some(text) => Some(json!({"type": "thinking", "thinking": text, "signature": signature})),
        None => Some(json!({"type": "redacted_thinking", "data": signature})),
    }
}

/// Returns the block of a text; `None` if it is blank, which the provider refuses.
fn text_block(text: String) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn result_block(id: &str, content: Value, is_error: bool) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error})
}

/// Returns the content of a result: its text, or a list if it has media.
fn result(response: &FunctionResponse) -> Value {
    let text = result_text(response);
    let media: Vec<Value> = response
        .parts
        .iter()
        .flatten()
        .filter_map(|part| part.inline_data.as_ref())
        .map(|blob| media_block(blob).unwrap_or_else(|| placeholder(&media_type(blob))))
        .collect();
    if media.is_empty() {
        return json!(text);
    }
    Value::Array(text_block(text).into_iter().chain(media).collect())
}

/// Returns the text of a result: the `content` of MCP tools, the value of `{"result": value}`, or the whole result as
/// JSON.
fn result_text(response: &FunctionResponse) -> String {
    let Some(members) = response.response.as_ref().filter(|members| !members.is_empty()) else { return String::new() };
    let as_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match members.get("content") {
        Some(Value::Array(items)) if !items.is_empty() => {
            let text =
                |item: &Value| item.get("text").filter(|_| item.get("type") == Some(&json!("text"))).map(as_text);
            return items.iter().map(|item| text(item).unwrap_or_else(|| as_text(item))).collect::<Vec<_>>().join("\n");
        }
        Some(Value::String(text)) if !text.is_empty() => return text.clone(),
        _ => {}
    }
    match members.get("result").filter(|result| members.len() == 1 && !result.is_null()) {
        Some(result) => as_text(result),
        None => Value::Object(members.clone()).to_string(),
    }
}

/// Returns the text that replaces media that cannot be sent.
fn placeholder(kind: &str) -> Value {
    json!({"type": "text", "text": format!("[media of {kind}]")})
}

/// Returns the block of an image or a PDF; `None` for other media.
fn media_block(blob: &Blob) -> Option<Value> {
    let kind = media_type(blob);
    let block = match kind.as_str() {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" => "image",
        "application/pdf" => "document",
        _ if kind.starts_with("text/") => {
            let text = String::from_utf8_lossy(bytes(blob)).into_owned();
            return Some(text_block(text).unwrap_or_else(|| placeholder(&kind)));
        }
        _ => return None,
    };
    Some(json!({"type": block, "source": {"type": "base64", "media_type": kind, "data": base64(bytes(blob))}}))
}
