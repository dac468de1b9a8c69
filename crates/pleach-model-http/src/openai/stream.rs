//! Reads a streamed answer.
// L236

use pleach_core::{Content, Owned, Part};
use pleach_model::{LlmResponse, ModelError};
use serde_json::Value;

use super::answer;
use super::calls::Calls;
use super::text::parts;
use crate::finish::Finish;
use crate::wire::{Amount, Decoder, Reading, has_words};

/// A decoder for the chunks of one answer.
pub(super) struct ChatStream<'a> {
    reading: Reading<'a>,
    /// The texts and thoughts. Consecutive parts of one kind are joined.
    parts: Vec<Part>,
    calls: Calls,
    /// The call in the older form, which is used if there is none in the newer form.
    older: Calls,
    /// A whole message that came in addition to deltas. Only parts that the deltas lack are used.
    message: Option<Value>,
    /// The chunks of another choice, kept until the first choice has a chunk.
    others: Vec<Value>,
    has_first: bool,
    /// Whether a delta had content.
    has_deltas: bool,
    finish: Option<Finish>,
    usage: Option<Owned>,
    version: Option<String>,
    is_over: bool,
    /// The number of events with content.
    events: usize,
}

/// The maximum number of chunks that are kept of a choice other than the first.
const MOST_OTHERS: usize = 100_000;

/// The members of a delta that are not content.
const NOT_CONTENT: [&str; 6] = ["role", "id", "type", "name", "index", "format"];

impl<'a> ChatStream<'a> {
    pub(super) fn new(reading: Reading<'a>) -> Self {
        Self {
            reading,
            parts: Vec::new(),
            calls: Calls::default(),
            older: Calls::default(),
            message: None,
            others: Vec::new(),
            has_first: false,
            has_deltas: false,
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

    /// Takes the choices of a chunk. The request asks for one choice. Choices with other numbers are left out, unless
    /// the only choice has another number.
    fn take_choices(&mut self, choices: &[Value]) -> Vec<LlmResponse> {
        let mut fragments = Vec::new();
        for choice in choices {
            let (calls, ends) = (self.call_count(), !self.is_whole() && answer::finish(choice).is_some());
            if answer::index(choice) == 0 {
                self.has_first = true;
                self.others = Vec::new();
                fragments.extend(self.take(choice));
            } else if self.is_kept_choice(choice) {
                self.others.push(choice.clone());
            } else {
                continue;
            }
            let has_words = ["delta", "message"].iter().any(|key| has_words(&choice[*key], &NOT_CONTENT));
            self.events += usize::from(has_words || ends || self.call_count() > calls);
        }
        fragments
    }

    /// Returns true if the chunks of this choice are kept: the first choice has no chunk so far, and no third choice's
    /// chunks are kept.
    fn is_kept_choice(&self, choice: &Value) -> bool {
        !self.has_first && self.others.first().is_none_or(|first| answer::index(first) == answer::index(choice))
    }

    fn call_count(&self) -> usize {
        self.calls.len() + self.older.len()
    }

    fn take(&mut self, choice: &Value) -> Vec<LlmResponse> {
        let member = |key: &str| choice.get(key).filter(|member| member.is_object());
        let fragments = match (member("delta"), member("message")) {
            (Some(delta), message) => {
                self.message = message.cloned().or_else(|| self.message.take());
                let fragments = self.take_delta(delta);
                self.has_deltas |= !(self.parts.is_empty() && self.call_count() == 0);
                fragments
            }
            // Some servers send a message instead of a delta, or repeat the whole message at the end.
            (None, Some(message)) if !self.has_deltas => self.take_delta(message),
            (None, message) => {
                self.message = message.cloned().or_else(|| self.message.take());
                Vec::new()
            }
        };
        // A failure or a limit stays, even if the last chunk reports a normal end.
        let earlier = self.finish.take();
        self.finish = match answer::finish(choice) {
            Some(finish) => Some(finish.or_worse(earlier)),
            None => earlier,
        };
        fragments
    }

    fn take_delta(&mut self, delta: &Value) -> Vec<LlmResponse> {
        let mut fragments = Vec::new();
        for part in parts(delta) {
            self.keep(&part);
            fragments.push(self.fragment(part));
        }
        let Reading { call, .. } = self.reading;
        let is_tool = |name: &str| call.request.declares(name);
        for piece in answer::tool_calls(delta) {
            if let Some(call) = self.calls.push_piece(piece, is_tool, call.ids) {
                fragments.push(self.fragment(Part::function_call(call)));
            }
        }
        if let Some(piece) = answer::function_call(delta) {
            // This yields no fragment, because the same call may come in the newer form.
            self.older.push_piece(piece, is_tool, call.ids);
        }
        fragments
    }

    /// Adds the parts of the whole message that did not come in deltas.
    fn complete(&mut self) {
        if self.calls.is_empty() {
            self.calls = std::mem::take(&mut self.older);
        }
        let Some(message) = self.message.take() else { return };
        if self.calls.is_empty() {
            answer::push_whole(&mut self.calls, &message, &self.reading);
        }
        let has_text = self.parts.iter().any(|part| !part.is_thought());
        let has_thought = self.parts.iter().any(Part::is_thought);
        for part in parts(&message) {
            match part.is_thought() {
                true if !has_thought => self.parts.insert(0, part),
                false if !has_text => self.keep(&part),
                _ => {}
            }
        }
    }
}

impl Decoder for ChatStream<'_> {
    fn event(&mut self, chunk: Value) -> Result<Vec<LlmResponse>, ModelError> {
        if chunk.is_null() {
            self.is_over = true;
            return Ok(Vec::new());
        }
        self.version = answer::version(&chunk).or_else(|| self.version.take());
        // The usage comes in a late chunk without choices.
        self.usage = answer::usage_of(&chunk).or_else(|| self.usage.take());
        let choices = chunk.get("choices").and_then(Value::as_array);
        let fragments = choices.map_or_else(Vec::new, |choices| self.take_choices(choices));
        if self.others.len() > MOST_OTHERS {
            return Err(self.reading.invalid(format!("more than {MOST_OTHERS} chunks, and none of its first choice")));
        }
        Ok(fragments)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some() || self.others.last().is_some_and(|choice| answer::finish(choice).is_some())
    }

    fn amount(&self) -> Amount {
        Amount { events: self.events, calls: self.call_count(), parts: self.parts.len() }
    }

    fn finish(mut self: Box<Self>) -> Result<Option<LlmResponse>, ModelError> {
        for choice in std::mem::take(&mut self.others) {
            self.take(&choice);
        }
        // Some servers end without `[DONE]`, and some without a finish reason. A connection that was cut has neither.
        if !self.is_over && self.finish.is_none() {
            return Err(self.reading.cut());
        }
        self.complete();
        let mut whole = answer::whole(&self.reading, self.finish, self.calls, self.parts)?;
        whole.info.model_version = self.version;
        whole.info.usage_metadata = self.usage;
        Ok(Some(whole))
    }
}
