//! What a provider's wire format is, behind one trait.

use pleach_core::Map;
use pleach_model::{LlmResponse, ModelCall, ModelCapabilities, ModelError, ModelErrorKind};
use serde_json::Value;

use crate::http::{Limits, TimeLimit};
use crate::schema::Dialect;

/// The facts about a provider that do not depend on a request.
#[derive(Debug)]
pub(crate) struct Provider {
    /// As people call it.
    pub(crate) name: &'static str,
    /// A name of a model, for messages.
    pub(crate) example: &'static str,
    /// Where it is reached.
    pub(crate) base_url: &'static str,
    /// The variables that set another base URL.
    pub(crate) base_url_variables: &'static [&'static str],
    /// The variables that hold a key.
    pub(crate) key_variables: &'static [&'static str],
    /// The header that carries the key, and what comes before the key in it.
    pub(crate) key_header: (&'static str, &'static str),
    /// Headers of every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// Whether the provider refuses calls without a key.
    pub(crate) needs_key: bool,
}

/// A request as it is sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The version of the API, for base URLs that do not end in one.
    pub(crate) version: Option<String>,
    /// Behind the base URL and the version, with a query if there is one.
    pub(crate) path: String,
    /// The body, without what the caller adds to it.
    pub(crate) body: Map,
}

/// A provider's wire format.
pub(crate) trait Wire: Send + Sync + 'static {
    fn provider(&self) -> &'static Provider;

    /// What the models can do; `is_original` when they are reached at the provider's own address.
    fn capabilities(&self, is_original: bool) -> ModelCapabilities;

    /// The part of JSON Schema that the provider accepts for functions.
    fn dialect(&self) -> &'static Dialect;

    /// Checks that the model of this name can be held to answers of a schema.
    fn check_output_schema(&self, _model: &str, _schema: &Value) -> Result<(), ModelError> {
        Ok(())
    }

    /// Completes a base URL that was set as people write it.
    fn complete_base_url(&self, url: String) -> String {
        url
    }

    /// Writes the request to the model of this name.
    fn prepare(&self, model: &str, call: &ModelCall<'_>) -> Result<Prepared, ModelError>;

    /// Reads an answer that comes as a whole.
    fn read(&self, reading: &Reading<'_>, answer: Value) -> Result<LlmResponse, ModelError>;

    /// Begins to read a stream.
    fn decoder<'a>(&self, reading: Reading<'a>) -> Box<dyn Decoder + 'a>;
}

/// The response to a call whose result was never recorded.
// L231
pub(crate) const MISSING_RESULT: &str =
    "Error: there is no result of this call; the tool may have been interrupted before it was recorded.";

/// The advice where the base URL leads to something other than a model server.
pub(crate) const WRONG_ADDRESS: &str = "check that the base URL is that of a compatible provider";

/// What reading an answer needs beside the answer.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// The name of the model.
    pub(crate) model: &'a str,
    /// The request, the clock, and the ids for calls that have none.
    pub(crate) call: ModelCall<'a>,
}

impl Reading<'_> {
    /// An answer that the provider's format does not allow.
    pub(crate) fn invalid(&self, what: impl Into<String>) -> ModelError {
        ModelError::new(self.model, ModelErrorKind::InvalidResponse).with_message(what)
    }

    /// The answer is not from a model server.
    pub(crate) fn foreign(&self, what: impl Into<String>) -> ModelError {
        self.invalid(what).with_advice(WRONG_ADDRESS)
    }

    /// No answer in time.
    pub(crate) fn timeout(&self, limit: TimeLimit) -> ModelError {
        ModelError::new(self.model, ModelErrorKind::Timeout).with_message(limit.message())
    }

    /// Checks how many calls and other parts an answer has.
    pub(crate) fn check_amount(&self, amount: Amount, limits: &Limits) -> Result<(), ModelError> {
        if amount.calls > limits.calls {
            return Err(self.invalid(format!("more than {} calls; allow more with `.max_calls(…)`", limits.calls)));
        }
        if amount.parts > MOST_PARTS {
            return Err(self.invalid(format!("more than {MOST_PARTS} texts, thoughts and other parts")));
        }
        Ok(())
    }

    /// Checks how many calls and other parts a whole answer has.
    pub(crate) fn check_whole(&self, whole: &LlmResponse, limits: &Limits) -> Result<(), ModelError> {
        let calls = whole.function_calls().count();
        let parts = whole.content.as_ref().map_or(0, |content| content.parts().len()).saturating_sub(calls);
        self.check_amount(Amount { calls, parts, ..Amount::default() }, limits)
    }

    /// A stream that ended too early.
    pub(crate) fn cut(&self) -> ModelError {
        ModelError::new(self.model, ModelErrorKind::StreamCut)
    }
}

/// A setting or content that the provider has no place for.
pub(crate) fn unsupported(model: &str, what: impl Into<String>) -> ModelError {
    ModelError::new(model, ModelErrorKind::InvalidRequest).with_message(what)
}

/// Reads a stream, event by event.
pub(crate) trait Decoder: Send {
    /// Takes the data of one event in, and returns the fragments it gives. Null means that nothing follows.
    fn event(&mut self, data: Value) -> Result<Vec<LlmResponse>, ModelError>;

    /// Whether the stream has said that nothing follows.
    fn is_over(&self) -> bool;

    /// Whether the reason of the end has come: what may follow, such as the usage, is welcome and not needed.
    fn is_whole(&self) -> bool;

    /// How much has come so far.
    fn amount(&self) -> Amount;

    /// Returns the whole answer; `None` when there was none at all.
    fn finish(self: Box<Self>) -> Result<Option<LlmResponse>, ModelError>;
}

/// How many parts other than calls an answer may have. Texts of one kind that follow each other are one part, or a block each with
/// Anthropic.
pub(crate) const MOST_PARTS: usize = 10_000;

/// How much of an answer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Amount {
    /// The events that had content: words, arguments, calls, media, the reason of the end.
    pub(crate) events: usize,
    /// The calls that have begun.
    pub(crate) calls: usize,
    /// The other parts that have begun.
    pub(crate) parts: usize,
}

/// The number of a choice, a candidate, a block or a call; some servers write it as a text. `None` where there is none.
pub(crate) fn index(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(text) => text.trim().parse().ok(),
        number => number.as_u64(),
    }
}

/// Whether a value has a text that is not blank, outside of members with these names.
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
