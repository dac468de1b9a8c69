//! [`NodeInput`]: the input of a node, shared with the event that carries it.

use std::sync::Arc;

use pleach_core::{Content, Event};
use pleach_schema::{coerce, coerce_content};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{NodeError, Schema};

/// The input of a run. Cheap to clone: an output of a predecessor is shared with its stored event, never copied.
#[derive(Clone, Debug, Default)]
pub enum NodeInput {
    /// No input.
    #[default]
    Null,
    /// A separate JSON value, such as the map of a join.
    Json(Arc<Value>),
    /// The output of this event.
    Output(Arc<Event>),
    /// The message of this event: a user's message, or the answer of a model.
    Content(Arc<Event>),
}

impl NodeInput {
    /// Returns an input with this value; null becomes [`NodeInput::Null`]. A NaN or an infinity becomes null;
    /// [`NodeInput::try_json`] refuses it.
    pub fn json(value: impl Into<Value>) -> Self {
        match value.into() {
            Value::Null => Self::Null,
            value => Self::Json(Arc::new(value)),
        }
    }

    /// Returns an input with any value that has a JSON form; null becomes [`NodeInput::Null`].
    ///
    /// # Errors
    /// A `ValidationError` if the value has no JSON form, for example because it contains NaN.
    pub fn try_json(value: impl Serialize) -> Result<Self, NodeError> {
        let json = pleach_core::to_json(value);
        json.map(Self::json).map_err(|error| NodeError::validation(format!("the input has no JSON form: {error}")))
    }

    /// Returns true if there is no input.
    #[must_use]
    pub fn is_null(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Json(value) => value.is_null(),
            Self::Output(event) => event.output().is_none(),
            Self::Content(event) => event.content().is_none(),
        }
    }

    /// Returns the JSON value; `None` if the input is a message, or if there is no input.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            Self::Output(event) => event.output(),
            Self::Null | Self::Content(_) => None,
        }
    }

    /// Returns the message, if the input is one.
    #[must_use]
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::Content(event) => event.content(),
            _ => None,
        }
    }

    /// Returns the input as JSON: a message in its stored form, or null if there is no input.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match (self.value(), self.content()) {
            (Some(value), _) => value.clone(),
            (None, Some(content)) => serde_json::to_value(content).unwrap_or(Value::Null),
            (None, None) => Value::Null,
        }
    }

    /// Converts the input into a JSON value, without a copy if the value is not shared.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self {
            Self::Json(value) => Arc::unwrap_or_clone(value),
            other => other.to_value(),
        }
    }

    /// Reads the input as a `T`, leniently.
    ///
    /// # Errors
    /// A `ValidationError` that names the part that does not fit.
    // R504
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, NodeError> {
        let parsed = match self.content() {
            Some(content) => coerce_content(content),
            None => coerce(self.value().unwrap_or(&Value::Null)),
        };
        parsed.map_err(NodeError::from)
    }

    /// Checks the input against a schema and converts it.
    ///
    /// # Errors
    /// A `ValidationError` that names the schema and the field.
    // R303, R304
    pub fn conform(self, schema: &Schema) -> Result<Self, NodeError> {
        if !schema.is_enforced() || self.is_null() {
            return Ok(self);
        }
        let value = match self.content() {
            Some(content) => schema.apply_content(content)?,
            None => schema.apply(self.value().unwrap_or(&Value::Null))?,
        };
        Ok(Self::json(value))
    }
}

impl From<Value> for NodeInput {
    fn from(value: Value) -> Self {
        Self::json(value)
    }
}
