//! [`Counts`]: the counted usage. [`Answered`]: the tokens of one model call.

use pleach_core::{Map, ModelInfo};
use serde_json::{Value, json};

/// The number of billionths in one unit of the prices' currency.
pub(super) const NANOS: f64 = 1e9;

/// The usage so far, or of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cost_nanos: u64,
    pub(super) model_calls: u64,
    pub(super) tool_calls: u64,
}

type Field = fn(&mut Counts) -> &mut u64;

/// The counters by name, as in state keys and notes.
const FIELDS: [(&str, Field); 5] = [
    ("input_tokens", |counts| &mut counts.input_tokens),
    ("output_tokens", |counts| &mut counts.output_tokens),
    ("cost_nanos", |counts| &mut counts.cost_nanos),
    ("model_calls", |counts| &mut counts.model_calls),
    ("tool_calls", |counts| &mut counts.tool_calls),
];

impl Counts {
    pub(super) const ONE_MODEL_CALL: Self = Self { model_calls: 1, ..Self::NONE };
    pub(super) const ONE_TOOL_CALL: Self = Self { tool_calls: 1, ..Self::NONE };
    const NONE: Self = Self { input_tokens: 0, output_tokens: 0, cost_nanos: 0, model_calls: 0, tool_calls: 0 };

    /// Returns the counters for which `read` has a value.
    pub(super) fn read(read: impl Fn(&str) -> Option<u64>) -> Self {
        let mut counts = Self::default();
        for (name, field) in FIELDS {
            *field(&mut counts) = read(name).unwrap_or_default();
        }
        counts
    }

    /// Returns the counters that are not zero, by name.
    pub(super) fn used(mut self) -> impl Iterator<Item = (&'static str, u64)> {
        FIELDS.into_iter().map(move |(name, field)| (name, *field(&mut self))).filter(|(_, count)| *count > 0)
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.into_iter().map(|(name, _)| name)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    /// Returns the larger value of each counter.
    pub(super) fn or_more(self, other: Self) -> Self {
        self.with(other, u64::max)
    }

    pub(super) fn total_tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    fn with(mut self, mut other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        for (_, field) in FIELDS {
            let count = field(&mut self);
            *count = join(*count, *field(&mut other));
        }
        self
    }

    pub(super) fn to_map(self) -> Map {
        self.used().map(|(name, count)| (name.to_owned(), json!(count))).collect()
    }
}

/// The tokens of one model call, according to its responses so far. Each fragment reports the call's usage so far, so
/// the largest count is the usage of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answered {
    /// The request tokens, including tokens that are read from the cache or written to it.
    pub(super) input: u64,
    /// The tokens read from the provider's cache.
    pub(super) cached: u64,
    /// The tokens written to the provider's cache.
    pub(super) written: u64,
    /// The answer tokens, including thoughts.
    pub(super) output: u64,
}

impl Answered {
    /// Takes over the tokens that a response reports. Returns true if it reports any.
    pub(super) fn take(&mut self, info: &ModelInfo) -> bool {
        let Some(usage) = &info.usage_metadata else { return false };
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
        let input = count("prompt_token_count").saturating_add(count("tool_use_prompt_token_count"));
        // Some servers include thoughts in the candidates' tokens, and others do not. The total contains them once.
        let output = match usage.get("total_token_count").and_then(Value::as_u64).filter(|total| *total >= input) {
            Some(total) => total - input,
            None => count("candidates_token_count").saturating_add(count("thoughts_token_count")),
        };
        self.input = self.input.max(input);
        self.cached = self.cached.max(count("cached_content_token_count"));
        self.written = self.written.max(count("cache_creation_input_tokens"));
        self.output = self.output.max(output);
        true
    }
}
