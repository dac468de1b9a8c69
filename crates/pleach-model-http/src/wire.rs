//! [`Wire`]: the interface of all wire formats.

use pleach_core::Map;
use pleach_model::{LlmResponse, ModelCall, ModelCapabilities, ModelError, ModelErrorKind};
use serde_json::Value;

use crate::http::{Limits, TimeLimit};
use crate::schema::Dialect;

/// The facts about a provider that do not depend on a request.
#[derive(Debug)]
pub(crate) struct Provider {
    /// The common name.
    pub(crate) name: &'static str,
    /// The value of `gen_ai.provider.name` in traces and metrics.
    pub(crate) telemetry_name: &'static str,
    /// The name of a model, as an example in messages.
    pub(crate) example: &'static str,
    /// The address of the provider.
    pub(crate) base_url: &'static str,
    /// The variables that set another base URL.
    pub(crate) base_url_variables: &'static [&'static str],
    /// The variables that hold a key.
    pub(crate) key_variables: &'static [&'static str],
    /// The header that carries the key, and the prefix of its value.
    pub(crate) key_header: (&'static str, &'static str),
    /// Headers of every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// Whether the provider refuses calls without a key.
    pub(crate) needs_key: bool,
}

/// A request in a provider's format.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The version of the API, for base URLs that do not end in one.
    pub(crate) version: Option<String>,
    /// The path after the base URL and version, with the query if there is one.
    pub(crate) path: String,
    /// The body, without the members that the caller adds.
    pub(crate) body: Map,
}

/// A provider's wire format.
pub(crate) trait Wire: Send + Sync + 'static {
    fn provider(&self) -> &'static Provider;

    /// Returns the capabilities of the models. `is_original` is true at the provider's own address.
    fn capabilities(&self, is_original: bool) -> ModelCapabilities;

    /// Returns the part of JSON Schema that the provider accepts.
    fn dialect(&self) -> &'static Dialect;

    /// Checks that the answers of the model of this name can be constrained to a schema.
    fn check_output_schema(&self, _model: &str, _schema: &Value) -> Result<(), ModelError> {
        Ok(())
    }

    /// Completes a base URL in a short form, such as a host alone.
    fn complete_base_url(&self, url: String) -> String {
        url
    }

    /// Writes the request to the model of this name.
    fn prepare(&self, model: &str, call: &ModelCall<'_>) -> Result<Prepared, ModelError>;

    /// Reads an answer that is not streamed.
    fn read(&self, reading: &Reading<'_>, answer: Value) -> Result<LlmResponse, ModelError>;

    /// Begins to read a stream.
    fn decoder<'a>(&self, reading: Reading<'a>) -> Box<dyn Decoder + 'a>;
}

/// The result sent for a call whose own result was never recorded.
// L231
pub(crate) const MISSING_RESULT: &str =
    "Error: there is no result of this call; the tool may have been interrupted before it was recorded.";

/// The advice if the base URL does not lead to a model server.
pub(crate) const WRONG_ADDRESS: &str = "check that the base URL is that of a compatible provider";

/// The context for reading an answer.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// The name of the model.
    pub(crate) model: &'a str,
    /// The request, the clock, and the ids for calls that have none.
    pub(crate) call: ModelCall<'a>,
}

impl Reading<'_> {
    /// Returns the error for an answer that the provider's format does not allow.
    pub(crate) fn invalid(&self, what: impl Into<String>) -> ModelError {
        ModelError::new(self.model, ModelErrorKind::InvalidResponse).with_message(what)
    }

    /// Returns the error for an answer that is not from a model server.
    pub(crate) fn foreign(&self, what: impl Into<String>) -> ModelError {
        self.invalid(what).with_advice(WRONG_ADDRESS)
    }

    /// Returns the error for an answer that is late.
    pub(crate) fn timeout(&self, limit: TimeLimit) -> ModelError {
        ModelError::new(self.model, ModelErrorKind::Timeout).with_message(limit.message())
    }

    /// Checks that an answer does not have too many calls or other parts.
    pub(crate) fn check_amount(&self, amount: Amount, limits: &Limits) -> Result<(), ModelError> {
        if amount.calls > limits.calls {
            return Err(self.invalid(format!("more than {} calls; allow more with `.max_calls(…)`", limits.calls)));
        }
        if amount.parts > MOST_PARTS {
            return Err(self.invalid(format!("more than {MOST_PARTS} texts, thoughts and other parts")));
        }
        Ok(())
    }

    /// Checks that a whole answer does not have too many calls or other parts.
    pub(crate) fn check_whole(&self, whole: &LlmResponse, limits: &Limits) -> Result<(), ModelError> {
        let calls = whole.function_calls().count();
        let parts = whole.content.as_ref().map_or(0, |content| content.parts().len()).saturating_sub(calls);
        self.check_amount(Amount { calls, parts, ..Amount::default() }, limits)
    }

    /// Returns the error for a stream that ended too early.
    pub(crate) fn cut(&self) -> ModelError {
        ModelError::new(self.model, ModelErrorKind::StreamCut)
    }
}

/// Returns the error for a setting or content that the provider's format does not have.
pub(crate) fn unsupported(model: &str, what: impl Into<String>) -> ModelError {
    ModelError::new(model, ModelErrorKind::InvalidRequest).with_message(what)
}

/// Reads a stream, event by event.
pub(crate) trait Decoder: Send {
    /// Takes the data of one event, and returns its fragments. Null means that nothing follows.
    fn event(&mut self, data: Value) -> Result<Vec<LlmResponse>, ModelError>;

    /// Returns true if the stream has announced its end.
    fn is_over(&self) -> bool;

    /// Returns true if the finish reason has come. Later data, such as the usage, is used but not required.
    fn is_whole(&self) -> bool;

    /// Returns the amount that has come so far.
    fn amount(&self) -> Amount;

    /// Returns the whole answer; `None` if there was none.
    fn finish(self: Box<Self>) -> Result<Option<LlmResponse>, ModelError>;
}

/// The maximum number of parts other than calls in an answer. Consecutive texts of one kind are one part; with
/// Anthropic, each block is a part.
pub(crate) const MOST_PARTS: usize = 10_000;

/// The amount of an answer that has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Amount {
    /// The events with content: words, arguments, calls, media, or the finish reason.
    pub(crate) events: usize,
    /// The calls that have begun.
    pub(crate) calls: usize,
    /// The other parts that have begun.
    pub(crate) parts: usize,
}

/// Returns the number of a choice, candidate, block or call; `None` if it has no number. Some servers write the number
/// as a string.
pub(crate) fn index(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(text) => text.trim().parse().ok(),
        number => number.as_u64(),
    }
}

/// Returns true if a value contains a string that is not blank, outside the members with the names in `except`.
pub(crate) fn has_words(value: &Value, except: &[&str]) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(|item| has_words(item, except)),
        Value::Object(members) => {
            members.iter().any(|(key, member)| !except.contains(&key.as_str()) && has_words(member, except))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
