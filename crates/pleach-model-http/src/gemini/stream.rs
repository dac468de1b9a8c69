//! A streamed answer.
// L216, L217

use pleach_model::{Aggregator, LlmResponse, ModelError};
use serde_json::Value;

use super::answer;
use crate::wire::{Decoder, Reading};

/// Reads the chunks of one answer.
pub(super) struct GeminiStream<'a> {
    reading: Reading<'a>,
    aggregator: Aggregator,
    /// Whether a chunk has named the reason of the end.
    has_ended: bool,
    has_chunks: bool,
}

impl<'a> GeminiStream<'a> {
    pub(super) fn new(reading: Reading<'a>) -> Self {
        Self { reading, aggregator: Aggregator::default(), has_ended: false, has_chunks: false }
    }
}

impl Decoder for GeminiStream<'_> {
    fn event(&mut self, data: Value) -> Result<Vec<LlmResponse>, ModelError> {
        if data.is_null() {
            return Ok(Vec::new());
        }
        let chunk = answer::chunk(&self.reading, &data)?;
        self.has_chunks = true;
        self.has_ended |= chunk.info.finish_reason.is_some() || chunk.error_code.is_some();
        Ok(vec![self.aggregator.push(chunk, self.reading.call.ids)])
    }

    // The format has no mark of the end: the body ends.
    fn is_over(&self) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Result<Option<LlmResponse>, ModelError> {
        if self.has_chunks && !self.has_ended {
            return Err(self.reading.cut());
        }
        Ok(self.aggregator.finish())
    }
}
