//! Reads a streamed answer: blocks that begin, grow and end, by index.

use std::collections::HashMap;

use pleach_core::{Content, FunctionCall, Map, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::{Value, json};

use super::answer::{self, Usage};
use super::output::{self, OutputTool};
use crate::arguments::{ArgumentText, CallFaults};
use crate::finish::Finish;
use crate::wire::{Amount, Decoder, Reading, has_words, index};

/// A decoder for the events of one answer.
pub(super) struct MessageStream<'a> {
    reading: Reading<'a>,
    output: Option<OutputTool>,
    /// The blocks, in the order in which they began.
    blocks: Vec<Block>,
    /// The current block of each index. Some servers reuse an index.
    places: HashMap<u64, usize>,
    /// The last block of each id.
    by_id: HashMap<String, usize>,
    usage: Usage,
    version: Option<String>,
    finish: Option<Finish>,
    is_over: bool,
    amount: Amount,
}

/// A block that grows. For a call, it also has the text of the input.
struct Block {
    block: Map,
    input: ArgumentText,
    is_open: bool,
}

impl Block {
    fn new(block: Map) -> Self {
        Self { block, input: ArgumentText::default(), is_open: true }
    }

    /// Opens the block again. Input that comes with its second beginning is kept.
    fn begin_again(&mut self, block: &Map) {
        self.is_open = true;
        let input = block.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
        if let Some(input) = input.filter(|_| !self.has_input()) {
            self.block.insert("input".to_owned(), input.clone());
        }
    }

    fn is_call(&self) -> bool {
        self.block.get("type").and_then(Value::as_str) == Some("tool_use")
    }

    /// Returns true if the input of a call is whole, in pieces or in the block itself.
    fn has_input(&self) -> bool {
        let own = self.block.get("input").and_then(Value::as_object);
        self.input.is_whole() || own.is_some_and(|own| !own.is_empty() && self.input.is_blank())
    }

    /// Returns the part of the block, with the input that came in pieces. A call with an unreadable input is noted.
    fn into_part(mut self, faults: &mut CallFaults) -> Option<Part> {
        // The provider itself runs the tools of other blocks.
        let has_name = self.block.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        if self.is_call() && has_name && !self.input.is_blank() {
            match self.input.read() {
                Ok(input) if input.is_empty() => {}
                Ok(input) => drop(self.block.insert("input".to_owned(), input.into())),
                Err(fault) => {
                    let name = self.block.get("name").and_then(Value::as_str).unwrap_or_default();
                    faults.add(name.to_owned(), fault);
                    return None;
                }
            }
        }
        answer::part(&self.block, faults).filter(|part| !is_empty_text(part))
    }
}

impl<'a> MessageStream<'a> {
    pub(super) fn new(reading: Reading<'a>) -> Self {
        let output = OutputTool::of(reading.call.request);
        Self {
            reading,
            output,
            blocks: Vec::new(),
            places: HashMap::new(),
            by_id: HashMap::new(),
            usage: Usage::default(),
            version: None,
            finish: None,
            is_over: false,
            amount: Amount::default(),
        }
    }

    fn fragment(&self, part: Part) -> LlmResponse {
        let mut fragment = LlmResponse::of(Content::new("model", [part])).as_fragment();
        fragment.info.model_version.clone_from(&self.version);
        fragment
    }

    /// Begins a block; a call is a fragment with its id and name.
    fn begin(&mut self, index: u64, block: &Map) -> Option<LlmResponse> {
        if let Some(place) = self.begun_before(index, block) {
            self.blocks[place].begin_again(block);
            self.places.insert(index, place);
            return None;
        }
        let begun = Block::new(block.clone());
        self.amount.calls += usize::from(begun.is_call());
        self.amount.events += usize::from(has_words(&Value::Object(block.clone()), &["type"]));
        self.places.insert(index, self.blocks.len());
        if let Some(id) = id_of(block) {
            self.by_id.insert(id.to_owned(), self.blocks.len());
        }
        self.blocks.push(begun);
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

    /// Returns the existing block that this block begins again. It has the same id and name, and either is open at this
    /// index or was stopped before its input was whole.
    fn begun_before(&self, index: u64, block: &Map) -> Option<usize> {
        let place = *self.by_id.get(id_of(block)?)?;
        let begun = &self.blocks[place];
        let continues = if begun.is_open { self.places.get(&index) == Some(&place) } else { !begun.has_input() };
        let is_same = begun.block.get("name") == block.get("name") && begun.block.get("type") == block.get("type");
        (is_same && continues).then_some(place)
    }

    /// Returns the block at an index. If there is none, begins a block of this kind.
    fn block(&mut self, index: u64, kind: &str) -> &mut Block {
        let place = *self.places.entry(index).or_insert(self.blocks.len());
        if place == self.blocks.len() {
            self.amount.calls += usize::from(kind == "tool_use");
            self.blocks.push(Block::new(Map::from_iter([("type".to_owned(), json!(kind))])));
        }
        &mut self.blocks[place]
    }

    /// Returns true if a block is the call whose input is the answer.
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
        self.amount.events += usize::from(!piece.trim().is_empty());
        let block = self.block(index, default);
        if key == "partial_json" {
            block.input.push(piece);
            let is_output = block.block.get("name") == Some(&json!(output::NAME));
            let is_answer = is_output && self.output.as_ref().is_some_and(OutputTool::streams);
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
        let index = index(event.get("index")).unwrap_or(0);
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
            Some("content_block_stop") => {
                if let Some(place) = self.places.get(&index) {
                    self.blocks[*place].is_open = false;
                }
                None
            }
            Some("message_delta") => {
                self.usage.take(event.get("usage"));
                let finish = Finish::read(event.pointer("/delta/stop_reason"));
                self.amount.events += usize::from(finish.is_some() && self.finish.is_none());
                self.finish = finish.or_else(|| self.finish.take());
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

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn amount(&self) -> Amount {
        Amount { parts: self.blocks.len().saturating_sub(self.amount.calls), ..self.amount }
    }

    fn finish(self: Box<Self>) -> Result<Option<LlmResponse>, ModelError> {
        if !self.is_over && !self.is_whole() {
            return Err(self.reading.cut());
        }
        let mut parts = Vec::new();
        let mut faults = CallFaults::default();
        for block in self.blocks {
            parts.extend(block.into_part(&mut faults));
        }
        answer::whole(&self.reading, parts, (self.finish, faults.into_text()), &self.usage, self.version).map(Some)
    }
}

fn id_of(block: &Map) -> Option<&str> {
    block.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
}

fn is_empty_text(part: &Part) -> bool {
    part.text.as_ref().is_some_and(String::is_empty) && part.thought_signature.is_none()
}
