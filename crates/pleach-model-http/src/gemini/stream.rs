//! A streamed answer.
// L216, L217

use pleach_model::{Aggregator, LlmResponse, ModelError};
use serde_json::Value;

use super::answer;
use crate::wire::{Amount, Decoder, Reading, has_words};

/// Reads the chunks of one answer.
pub(super) struct GeminiStream<'a> {
    reading: Reading<'a>,
    aggregator: Aggregator,
    /// Whether a chunk has named the reason of the end.
    has_ended: bool,
    has_chunks: bool,
    amount: Amount,
}

impl<'a> GeminiStream<'a> {
    pub(super) fn new(reading: Reading<'a>) -> Self {
        Self {
            reading,
            aggregator: Aggregator::default(),
            has_ended: false,
            has_chunks: false,
            amount: Amount::default(),
        }
    }
}

impl Decoder for GeminiStream<'_> {
    fn event(&mut self, data: Value) -> Result<Vec<LlmResponse>, ModelError> {
        if data.is_null() {
            return Ok(Vec::new());
        }
        let chunk = answer::chunk(&self.reading, &data)?;
        self.has_chunks = true;
        let ends = chunk.info.finish_reason.is_some() || chunk.error_code.is_some();
        if has_content(&data) || (ends && !self.has_ended) {
            self.amount.events += 1;
        }
        self.has_ended |= ends;
        let fragment = self.aggregator.push(chunk, self.reading.call.ids);
        self.amount.calls = self.aggregator.call_count();
        Ok(vec![fragment])
    }

    // The format has no mark of the end: the body ends.
    fn is_over(&self) -> bool {
        false
    }

    fn is_whole(&self) -> bool {
        self.has_ended
    }

    fn amount(&self) -> Amount {
        self.amount
    }

    fn finish(self: Box<Self>) -> Result<Option<LlmResponse>, ModelError> {
        if self.has_chunks && !self.has_ended {
            return Err(self.reading.cut());
        }
        let mut whole = self.aggregator.finish();
        if let Some(whole) = &mut whole {
            answer::conclude(&self.reading, whole)?;
        }
        Ok(whole)
    }
}

/// Whether a chunk has words, a call or something else to keep.
fn has_content(chunk: &Value) -> bool {
    let parts = chunk.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    parts.into_iter().flatten().any(|part| {
        let pieces = part.pointer("/functionCall/partialArgs").and_then(Value::as_array);
        match pieces.filter(|pieces| !pieces.is_empty()) {
            Some(pieces) => pieces.iter().any(is_piece_with_value),
            None => has_words(part, &[]),
        }
    })
}

/// Whether a piece of arguments has a value; a text must not be blank.
fn is_piece_with_value(piece: &Value) -> bool {
    let has = |key: &str| piece.get(key).is_some_and(|value| !value.is_null());
    piece.get("stringValue").is_some_and(|text| has_words(text, &[]))
        || ["numberValue", "boolValue", "nullValue"].iter().any(|key| has(key))
}
