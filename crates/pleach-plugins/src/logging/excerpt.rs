//! [`Excerpts`]: shortens and masks the texts of users, models and tools for a line.

use std::borrow::Cow;

use pleach_context::{NodeError, Tool};
use pleach_core::{Content, Map, Part};
use serde_json::Value;

use super::Shown;
use super::secrets::{HIDDEN, Secrets, is_secret_name};

/// Shortens and masks texts and values for one line.
pub(super) struct Excerpts {
    pub(super) shown: Shown,
    pub(super) secrets: Secrets,
}

impl Excerpts {
    /// Returns a text on one line, cut to the configured length.
    pub(super) fn text(&self, text: &str) -> String {
        let masked = hide_in_text(text);
        let masked = self.secrets.mask(&masked);
        let mut short = String::new();
        for (place, letter) in masked.trim().chars().enumerate() {
            if place == self.shown.excerpt_length {
                short.push('…');
                break;
            }
            match letter {
                '\n' => short.push_str("\\n"),
                '\r' => short.push_str("\\r"),
                '\t' => short.push_str("\\t"),
                other if other.is_control() => short.push('\u{fffd}'),
                other => short.push(other),
            }
        }
        short
    }

    /// Returns a value as JSON, with members hidden whose names mark them as secrets. If contents are not shown,
    /// returns the kind of the value.
    pub(super) fn value(&self, value: &Value) -> String {
        if !self.shown.contents {
            return kind(value).to_owned();
        }
        let mut value = Cow::Borrowed(value);
        if has_secret(&value) {
            hide(value.to_mut());
        }
        self.text(&value.to_string())
    }

    /// Returns the arguments of a call.
    pub(super) fn args(&self, args: &Map) -> String {
        if !self.shown.contents {
            return format!("{} arguments", args.len());
        }
        self.value(&Value::Object(args.clone()))
    }

    /// Returns the name of a tool. If contents are not shown, returns `unknown` for a tool that does not exist, because
    /// the model invented its name.
    pub(super) fn tool(&self, tool: &dyn Tool) -> String {
        if self.shown.contents || tool.declaration().is_some() { self.text(tool.name()) } else { "unknown".to_owned() }
    }

    /// Returns the class of an error and its message.
    pub(super) fn error(&self, error: &NodeError) -> String {
        self.coded(error.code(), error.message())
    }

    pub(super) fn coded(&self, code: &str, message: &str) -> String {
        if self.shown.contents && !message.is_empty() {
            format!("{code}: {}", self.text(message))
        } else {
            code.to_owned()
        }
    }

    /// Returns the parts of a content in order. Texts are shortened; other parts are shown as their kind and name.
    pub(super) fn content(&self, content: Option<&Content>) -> String {
        let parts: Vec<String> =
            content.map_or(&[][..], |content| content.parts()).iter().filter_map(|part| self.part(part)).collect();
        if parts.is_empty() { "nothing".to_owned() } else { self.limited(&parts) }
    }

    fn part(&self, part: &Part) -> Option<String> {
        // A model can also invent names of functions.
        let name = |name: &Option<String>| {
            if self.shown.contents { self.text(name.as_deref().unwrap_or("?")) } else { "a function".to_owned() }
        };
        if let Some(text) = &part.text {
            let kind = if part.is_thought() { "thought " } else { "" };
            return (!text.trim().is_empty()).then(|| {
                if self.shown.contents {
                    format!("{kind}\"{}\"", self.text(text))
                } else {
                    format!("{kind}text of {} characters", text.chars().count())
                }
            });
        }
        if let Some(call) = &part.function_call {
            return Some(format!("calls {}", name(&call.name)));
        }
        if let Some(response) = &part.function_response {
            return Some(format!("response of {}", name(&response.name)));
        }
        if let Some(blob) = &part.inline_data {
            let kind = self.text(blob.mime_type.as_deref().unwrap_or("unknown type"));
            return Some(format!("file ({kind}, {} bytes)", blob.data.as_ref().map_or(0, |data| data.len())));
        }
        Some(match part {
            Part { file_data: Some(_), .. } => "file reference".to_owned(),
            Part { executable_code: Some(_), .. } => "code".to_owned(),
            Part { code_execution_result: Some(_), .. } => "result of code".to_owned(),
            _ => "other part".to_owned(),
        })
    }

    /// Returns up to eight of the things, and the number of the others.
    pub(super) fn limited(&self, things: &[String]) -> String {
        const SHOWN: usize = 8;
        let more = things.len().saturating_sub(SHOWN);
        let shown = things[..things.len() - more].join(", ");
        if more == 0 { shown } else { format!("{shown}, {more} more") }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The maximum length in bytes of a text that is read as JSON.
const LONGEST_JSON: usize = 64 * 1024;

/// Hides secrets in the queries of URLs and in a text that is JSON, which servers of tools often send.
fn hide_in_text(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_JSON
        && text.trim_start().starts_with(['{', '['])
        && let Ok(mut value) = serde_json::from_str::<Value>(text)
        && has_secret(&value)
    {
        hide(&mut value);
        return value.to_string().into();
    }
    hide_in_queries(text)
}

/// Hides the values of secret names in the queries of URLs: `?api_key=…`.
fn hide_in_queries(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['?', '&']) {
        let (before, query) = rest.split_at(start + 1);
        out.push_str(before);
        rest = query;
        let end =
            query.find(|letter: char| letter.is_whitespace() || "&\"'<>)".contains(letter)).unwrap_or(query.len());
        let Some((name, _)) = query[..end].split_once('=') else { continue };
        if name == "key" || is_secret_name(name) {
            out.extend([name, "=", HIDDEN]);
            rest = &query[end..];
        }
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    out.into()
}

/// Returns true if an object is a pair of a secret name and its value. Headers are often written like this.
fn is_secret_pair(members: &Map) -> bool {
    let name = ["name", "key", "header"].iter().find_map(|name| members.get(*name)?.as_str());
    members.contains_key("value") && name.is_some_and(is_secret_name)
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::Object(members) if is_secret_pair(members) => true,
        Value::Object(members) => members.iter().any(|(name, member)| is_secret_name(name) || has_secret(member)),
        Value::Array(items) => items.iter().any(has_secret),
        _ => false,
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_pair = is_secret_pair(members);
            for (name, member) in members.iter_mut() {
                if is_secret_name(name) || (is_pair && name == "value") {
                    *member = HIDDEN.into();
                } else {
                    hide(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_within_texts_are_hidden() {
        for (text, expected) in [
            ("{\"token\": \"x\", \"a\": 1}", "{\"a\":1,\"token\":\"[hidden]\"}"),
            (
                "[{\"name\": \"Authorization\", \"value\": \"x\"}]",
                "[{\"name\":\"Authorization\",\"value\":\"[hidden]\"}]",
            ),
            ("GET https://h/p?a=1&api_key=x&b=2 failed", "GET https://h/p?a=1&api_key=[hidden]&b=2 failed"),
            ("why? because a=b & c", "why? because a=b & c"),
            ("plain", "plain"),
        ] {
            assert_eq!(hide_in_text(text), expected);
        }
    }
}
