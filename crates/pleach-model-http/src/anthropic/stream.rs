//! A streamed answer: blocks that begin, grow and end, by index.

use std::collections::BTreeMap;

use pleach_core::{Content, FunctionCall, Map, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::{Value, json};

use super::answer::{self, Usage};
use super::output::{self, OutputTool};
use crate::wire::{Decoder, Reading};

/// Reads the events of one answer.
pub(super) struct MessageStream<'a> {
    reading: Reading<'a>,
    output: Option<OutputTool>,
    blocks: BTreeMap<u64, Block>,
    usage: Usage,
    version: Option<String>,
    reason: Option<String>,
    is_over: bool,
}

/// A block so far, and the text of a call's input.
struct Block {
    block: Map,
    input: String,
}

impl<'a> MessageStream<'a> {
    pub(super) fn new(reading: Reading<'a>) -> Self {
        let output = OutputTool::of(reading.call.request);
        Self {
            reading,
            output,
            blocks: BTreeMap::new(),
            usage: Usage::default(),
            version: None,
            reason: None,
            is_over: false,
        }
    }

    fn fragment(&self, part: Part) -> LlmResponse {
        let mut fragment = LlmResponse::of(Content::new("model", [part])).as_fragment();
        fragment.info.model_version.clone_from(&self.version);
        fragment
    }

    /// Begins a block; a call is a fragment with its id and name.
    fn begin(&mut self, index: u64, block: &Map) -> Option<LlmResponse> {
        self.blocks.insert(index, Block { block: block.clone(), input: String::new() });
        let kind = block.get("type").and_then(Value::as_str)?;
        let text =
            |key: &str| block.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        match kind {
            "text" => text("text").map(|text| self.fragment(Part::text(text))),
            "tool_use" if !self.is_output(block) => {
                let call = FunctionCall {
                    id: text("id"),
                    name: text("name"),
                    will_continue: Some(true),
                    ..FunctionCall::default()
                };
                Some(self.fragment(Part::function_call(call)))
            }
            _ => None,
        }
    }

    /// Whether a block is the call that holds the answer.
    fn is_output(&self, block: &Map) -> bool {
        self.output.is_some() && block.get("name") == Some(&json!(output::NAME))
    }

    /// Adds a piece to a block.
    fn grow(&mut self, index: u64, delta: &Value) -> Option<LlmResponse> {
        let kind = delta.get("type").and_then(Value::as_str)?;
        let (key, default) = match kind {
            "text_delta" => ("text", "text"),
            "thinking_delta" => ("thinking", "thinking"),
            "signature_delta" => ("signature", "thinking"),
            "input_json_delta" => ("partial_json", "tool_use"),
            _ => return None,
        };
        let piece = delta.get(key).and_then(Value::as_str).filter(|piece| !piece.is_empty())?;
        let empty = || Block { block: Map::from_iter([("type".to_owned(), json!(default))]), input: String::new() };
        let block = self.blocks.entry(index).or_insert_with(empty);
        if key == "partial_json" {
            block.input.push_str(piece);
            let is_answer = self.output.as_ref().is_some_and(OutputTool::streams)
                && block.block.get("name") == Some(&json!(output::NAME));
            return is_answer.then(|| self.fragment(Part::text(piece)));
        }
        match block.block.get_mut(key) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => drop(block.block.insert(key.to_owned(), json!(piece))),
        }
        match key {
            "text" => Some(self.fragment(Part::text(piece))),
            "thinking" => Some(self.fragment(Part { thought: Some(true), ..Part::text(piece) })),
            _ => None,
        }
    }
}

impl Decoder for MessageStream<'_> {
    fn event(&mut self, event: Value) -> Result<Vec<LlmResponse>, ModelError> {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        let fragment = match event.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                let message = event.get("message");
                self.usage.take(message.and_then(|message| message.get("usage")));
                self.version = message.and_then(|message| message.get("model")?.as_str()).map(str::to_owned);
                None
            }
            Some("content_block_start") => match event.get("content_block") {
                Some(Value::Object(block)) => self.begin(index, block),
                _ => return Err(self.reading.invalid("a block of its content is not an object")),
            },
            Some("content_block_delta") => event.get("delta").and_then(|delta| self.grow(index, delta)),
            Some("message_delta") => {
                self.usage.take(event.get("usage"));
                let reason = event.pointer("/delta/stop_reason").and_then(Value::as_str);
                self.reason = reason.map(str::to_owned).or_else(|| self.reason.take());
                None
            }
            Some("message_stop") => {
                self.is_over = true;
                None
            }
            _ => None,
        };
        Ok(fragment.into_iter().collect())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn finish(self: Box<Self>) -> Result<Option<LlmResponse>, ModelError> {
        if !self.is_over {
            return Err(self.reading.cut());
        }
        let mut parts = Vec::new();
        let mut unreadable = Vec::new();
        for Block { mut block, input } in self.blocks.into_values() {
            if !input.trim().is_empty() {
                match serde_json::from_str(&input) {
                    Ok(input @ Value::Object(_)) => drop(block.insert("input".to_owned(), input)),
                    _ => {
                        let name = block.get("name").and_then(Value::as_str).unwrap_or_default();
                        unreadable.push(name.to_owned());
                        continue;
                    }
                }
            }
            parts.extend(answer::part(&block).filter(|part| !is_empty_text(part)));
        }
        if !unreadable.is_empty() {
            parts.retain(|part| part.function_call.is_none());
        }
        let reason = self.reason.as_deref();
        let mut response = answer::whole(&self.reading, parts, reason, &self.usage, self.version);
        if !unreadable.is_empty() && response.error_code.is_none() {
            let message = format!("the arguments of these calls are no JSON object: {}", unreadable.join(", "));
            response.info.finish_reason = Some("MALFORMED_FUNCTION_CALL".to_owned());
            response.error_code = Some("MALFORMED_FUNCTION_CALL".to_owned());
            response.error_message = Some(message);
        }
        Ok(Some(response))
    }
}

fn is_empty_text(part: &Part) -> bool {
    part.text.as_ref().is_some_and(String::is_empty) && part.thought_signature.is_none()
}
