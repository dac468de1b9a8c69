//! [`Fields`]: the fields of a span or an event that metrics need.

use std::fmt::Debug;

use opentelemetry::{KeyValue, Value};
use tracing::field::{Field, Visit};

/// The fields of a span that become attributes or values. Other fields are skipped.
#[derive(Debug, Default)]
pub(super) struct Fields {
    texts: Vec<(&'static str, String)>,
    numbers: Vec<(&'static str, u64)>,
    flags: Vec<(&'static str, bool)>,
}

/// The fields that are kept: attributes of metrics, as listed in `docs/tracing.md`, and values.
const KEPT: [&str; 17] = [
    "attempt",
    "error.type",
    "gen_ai.agent.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.tool.name",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.workflow.name",
    "gen_ai.workflow.nested",
    "kind",
    "model",
    "pleach.node.attempt",
    "pleach.node.path",
    "pleach.outcome",
    "pleach.resumed",
    "status",
];

impl Fields {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.numbers.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }

    /// Returns the attributes with these names, if they have been recorded.
    pub(super) fn attributes(&self, names: &[&'static str]) -> Vec<KeyValue> {
        let value = |name: &str| -> Option<Value> {
            let flag = self.flags.iter().find(|(known, _)| *known == name).map(|(_, flag)| Value::Bool(*flag));
            let text = || self.text(name).map(|text| if name == "error.type" { error_code(text) } else { text });
            flag.or_else(|| text().map(|text| Value::from(text.to_owned())))
        };
        names.iter().filter_map(|name| value(name).map(|value| KeyValue::new(*name, value))).collect()
    }
}

/// Returns an error's code, or `_OTHER` if it does not look like a code. A custom model or node may use any text as a
/// code, and each text would become a series of its own.
fn error_code(text: &str) -> &str {
    let is_code = text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    // OpenTelemetry's value for errors without a code.
    if is_code { text } else { "_OTHER" }
}

/// Sets a value, and replaces an earlier value of the same field.
fn set<T>(values: &mut Vec<(&'static str, T)>, field: &Field, value: T) {
    let Some(name) = KEPT.into_iter().find(|kept| *kept == field.name()) else { return };
    match values.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => values.push((name, value)),
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if KEPT.contains(&field.name()) {
            set(&mut self.texts, field, format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if KEPT.contains(&field.name()) {
            set(&mut self.texts, field, value.to_owned());
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        set(&mut self.numbers, field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        set(&mut self.flags, field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_type_is_a_code_and_no_text() {
        for code in ["ValueError", "SAFETY", "429", "quota.exceeded", "mcp-lost"] {
            assert_eq!(error_code(code), code);
        }
        for text in ["quota for ana@example.com", "was: no", &"x".repeat(65)] {
            assert_eq!(error_code(text), "_OTHER");
        }
    }
}
