//! A streamed answer.
// L236

use pleach_core::{Content, Owned, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::Value;

use super::answer;
use super::calls::Calls;
use crate::wire::{Amount, Decoder, Reading, has_words};

/// Reads the chunks of one answer.
pub(super) struct ChatStream<'a> {
    reading: Reading<'a>,
    /// Texts and thoughts, those of one kind that follow each other joined.
    parts: Vec<Part>,
    calls: Calls,
    finish: Option<String>,
    usage: Option<Owned>,
    version: Option<String>,
    is_over: bool,
    /// The events that had content.
    events: usize,
}

/// Members of a delta that are no content of it.
const AROUND: [&str; 6] = ["role", "id", "type", "name", "index", "format"];

impl<'a> ChatStream<'a> {
    pub(super) fn new(reading: Reading<'a>) -> Self {
        Self {
            reading,
            parts: Vec::new(),
            calls: Calls::default(),
            finish: None,
            usage: None,
            version: None,
            is_over: false,
            events: 0,
        }
    }

    fn keep(&mut self, part: &Part) {
        match self.parts.last_mut() {
            Some(last) if last.is_thought() == part.is_thought() => {
                last.text.get_or_insert_default().push_str(part.text.as_deref().unwrap_or_default());
            }
            _ => self.parts.push(part.clone()),
        }
    }

    fn fragment(&self, part: Part) -> LlmResponse {
        let mut fragment = LlmResponse::of(Content::new("model", [part])).as_fragment();
        fragment.info.model_version.clone_from(&self.version);
        fragment
    }
}

impl Decoder for ChatStream<'_> {
    fn event(&mut self, chunk: Value) -> Result<Vec<LlmResponse>, ModelError> {
        if chunk.is_null() {
            self.is_over = true;
            return Ok(Vec::new());
        }
        self.version = answer::version(&chunk).or_else(|| self.version.take());
        // It comes in a late chunk without choices.
        self.usage = chunk.get("usage").and_then(answer::usage).or_else(|| self.usage.take());
        let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) else { return Ok(Vec::new()) };
        let mut fragments = Vec::new();
        if let Some(delta) = choice.get("delta") {
            for part in answer::thought(delta).into_iter().chain(answer::text(delta)) {
                self.keep(&part);
                fragments.push(self.fragment(part));
            }
            for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                if let Some(call) = self.calls.push_piece(piece, self.reading.call.ids) {
                    fragments.push(self.fragment(Part::function_call(call)));
                }
            }
        }
        let has_words =
            ["delta", "message"].iter().any(|key| choice.get(*key).is_some_and(|own| has_words(own, &AROUND)));
        let ends = self.finish.is_none() && answer::finish(choice).is_some();
        if has_words || ends || fragments.iter().any(|fragment| fragment.function_calls().next().is_some()) {
            self.events += 1;
        }
        if let Some(finish) = answer::finish(choice) {
            self.finish = Some(finish.to_owned());
        }
        Ok(fragments)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn amount(&self) -> Amount {
        Amount { events: self.events, calls: self.calls.len() }
    }

    fn finish(mut self: Box<Self>) -> Result<Option<LlmResponse>, ModelError> {
        // Some servers end without `[DONE]`, and some without a reason; a connection that was cut has neither.
        if !self.is_over && self.finish.is_none() {
            return Err(self.reading.cut());
        }
        let mut whole = LlmResponse::default();
        answer::finished(&mut whole, self.finish.as_deref(), self.calls, &mut self.parts);
        if !self.parts.is_empty() {
            whole.content = Some(Content::new("model", self.parts));
        }
        whole.info.model_version = self.version;
        whole.info.usage_metadata = self.usage;
        Ok(Some(whole))
    }
}
