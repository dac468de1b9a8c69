//! Reads a streamed answer.
// L216, L217

use pleach_model::{Aggregator, LlmResponse, ModelError};
use serde_json::Value;

use super::answer;
use crate::arguments::CallFaults;
use crate::wire::{Amount, Decoder, Reading, has_words};

/// The maximum number of chunks that are kept of a candidate other than the first.
const MOST_OTHERS: usize = 100_000;

/// A decoder for the chunks of one answer.
pub(super) struct GeminiStream<'a> {
    reading: Reading<'a>,
    aggregator: Aggregator,
    /// Whether a chunk had a finish reason.
    has_ended: bool,
    has_chunks: bool,
    /// The chunks of another candidate, kept until the first candidate has a chunk.
    others: Vec<Value>,
    has_first: bool,
    faults: CallFaults,
    amount: Amount,
}

impl<'a> GeminiStream<'a> {
    pub(super) fn new(reading: Reading<'a>) -> Self {
        Self {
            reading,
            aggregator: Aggregator::default(),
            has_ended: false,
            has_chunks: false,
            others: Vec::new(),
            has_first: false,
            faults: CallFaults::default(),
            amount: Amount::default(),
        }
    }
}

impl GeminiStream<'_> {
    /// Takes a chunk with its candidate.
    fn take(&mut self, data: &Value, candidate: Option<&Value>) -> Result<LlmResponse, ModelError> {
        let chunk = answer::chunk(&self.reading, data, candidate, &mut self.faults)?;
        self.has_chunks = true;
        let ends = chunk.info.finish_reason.is_some() || chunk.error_code.is_some();
        if candidate.is_some_and(has_content) || (ends && !self.has_ended) {
            self.amount.events += 1;
        }
        self.has_ended |= ends;
        let fragment = self.aggregator.push(chunk, self.reading.call.ids);
        self.amount.calls = self.aggregator.call_count();
        self.amount.parts = self.aggregator.part_count().saturating_sub(self.amount.calls);
        Ok(fragment)
    }

    /// Returns true if the chunks of this candidate are kept: the first candidate has no chunk so far, and no third
    /// candidate's chunks are kept.
    fn is_kept_candidate(&self, candidate: &Value) -> bool {
        let first = self.others.first().and_then(answer::any_candidate);
        !self.has_first && first.is_none_or(|first| answer::number(first) == answer::number(candidate))
    }
}

impl Decoder for GeminiStream<'_> {
    fn event(&mut self, data: Value) -> Result<Vec<LlmResponse>, ModelError> {
        if data.is_null() {
            return Ok(Vec::new());
        }
        let candidate = answer::candidate(&data);
        if candidate.is_some() {
            self.has_first = true;
            self.others = Vec::new();
        } else if let Some(other) = answer::any_candidate(&data) {
            // Candidates with other numbers are left out, unless the only candidate has another number.
            if self.is_kept_candidate(other) {
                self.amount.events += usize::from(has_content(other) || answer::ends(other));
                self.others.push(data);
            }
            if self.others.len() > MOST_OTHERS {
                return Err(self
                    .reading
                    .invalid(format!("more than {MOST_OTHERS} chunks, and none of its first candidate")));
            }
            return Ok(Vec::new());
        }
        Ok(vec![self.take(&data, candidate)?])
    }

    // The format has no end mark; the body just ends.
    fn is_over(&self) -> bool {
        false
    }

    fn is_whole(&self) -> bool {
        self.has_ended || self.others.last().and_then(answer::any_candidate).is_some_and(answer::ends)
    }

    fn amount(&self) -> Amount {
        self.amount
    }

    fn finish(mut self: Box<Self>) -> Result<Option<LlmResponse>, ModelError> {
        for chunk in std::mem::take(&mut self.others) {
            self.take(&chunk, answer::any_candidate(&chunk))?;
        }
        if self.has_chunks && !self.has_ended {
            return Err(self.reading.cut());
        }
        if self.aggregator.has_unnamed_calls() {
            self.faults.add_nameless("");
        }
        let mut whole = self.aggregator.finish();
        if let Some(whole) = &mut whole {
            answer::conclude(&self.reading, whole, self.faults)?;
        }
        Ok(whole)
    }
}

/// Returns true if the candidate of a chunk has words, a call or other content.
fn has_content(candidate: &Value) -> bool {
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
    parts.into_iter().flatten().any(|part| {
        let pieces = part.pointer("/functionCall/partialArgs").and_then(Value::as_array);
        match pieces.filter(|pieces| !pieces.is_empty()) {
            Some(pieces) => pieces.iter().any(is_piece_with_value),
            None => has_words(part, &[]),
        }
    })
}

/// Returns true if a piece of arguments has a value. A text must not be blank.
fn is_piece_with_value(piece: &Value) -> bool {
    let has = |key: &str| piece.get(key).is_some_and(|value| !value.is_null());
    piece.get("stringValue").is_some_and(|text| has_words(text, &[]))
        || ["numberValue", "boolValue", "nullValue"].iter().any(|key| has(key))
}
