//! A message and the ways to create one.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use smol_str::SmolStr;

use crate::content::{FunctionCall, FunctionResponse, Part};
use crate::json::json_object;

json_object! {
    /// A message: the parts and the role of the speaker. ADK: `types.Content`
    pub struct Content keep {
        /// The parts, oldest first. An absent list and an empty list differ in JSON, and both are kept.
        parts: Option<Vec<Part>> = "parts",
        /// The role of the speaker: `user` or `model`.
        role: Option<SmolStr> = "role",
    }
}

impl Content {
    /// Creates a message with several parts.
    pub fn new(role: impl Into<SmolStr>, parts: impl IntoIterator<Item = Part>) -> Self {
        Self { parts: Some(parts.into_iter().collect()), role: Some(role.into()), extra: None }
    }

    /// Creates a text message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(SmolStr::new_static("user"), [Part::text(text)])
    }

    /// Creates a text message of the model.
    pub fn model(text: impl Into<String>) -> Self {
        Self::new(SmolStr::new_static("model"), [Part::text(text)])
    }

    /// Returns the parts; an empty slice if they are absent.
    pub fn parts(&self) -> &[Part] {
        self.parts.as_deref().unwrap_or_default()
    }

    /// Returns the parts mutably, creating the list if absent.
    pub fn parts_mut(&mut self) -> &mut Vec<Part> {
        self.parts.get_or_insert_default()
    }

    /// Returns the role, if there is one.
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// Joins the text of all parts that are not thoughts.
    pub fn text(&self) -> String {
        self.parts().iter().filter(|part| !part.is_thought()).filter_map(|part| part.text.as_deref()).collect()
    }

    /// Iterates over the function calls.
    pub fn function_calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts().iter().filter_map(|part| part.function_call.as_deref())
    }

    /// Iterates over the function responses.
    pub fn function_responses(&self) -> impl Iterator<Item = &FunctionResponse> {
        self.parts().iter().filter_map(|part| part.function_response.as_deref())
    }
}

/// A message made from a string, a part, several parts or a whole [`Content`].
///
/// Strings and parts get the role `user`; a single part that calls a function gets the role `model`.
// R107
#[derive(Clone, Debug, PartialEq)]
pub struct Message(pub Content);

impl From<Content> for Message {
    fn from(content: Content) -> Self {
        Self(content)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self(Content::user(text))
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Self {
        Self(Content::user(text.as_str()))
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(Content::user(text))
    }
}

impl From<Part> for Message {
    fn from(part: Part) -> Self {
        let role = if part.function_call.is_some() { "model" } else { "user" };
        Self(Content::new(SmolStr::new_static(role), [part]))
    }
}

impl From<Vec<Part>> for Message {
    fn from(parts: Vec<Part>) -> Self {
        Self(Content::new(SmolStr::new_static("user"), parts))
    }
}

/// Reads any of these forms: a string, a part, an array of strings and parts, or a whole content.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The key `message` is a convenience for JSON written by hand, so it may be slow to read it through a
        // `Value`.
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(text.into()),
            Value::Array(items) => items
                .into_iter()
                .map(|item| match item {
                    Value::String(text) => Ok(Part::text(text)),
                    part => Part::deserialize(part).map_err(D::Error::custom),
                })
                .collect::<Result<Vec<_>, _>>()
                .map(Self::from),
            Value::Object(object) if object.contains_key("parts") || object.contains_key("role") => {
                Content::deserialize(Value::Object(object)).map(Self).map_err(D::Error::custom)
            }
            part => Part::deserialize(part).map(Self::from).map_err(D::Error::custom),
        }
    }
}
