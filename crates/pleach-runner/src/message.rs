//! [`Message`]: a user's message.

use pleach_core::{Content, Part};
use serde::Serialize;

/// A user's message: text, parts, or data as JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(Content);

impl Message {
    /// Returns a message with data as JSON text, which an `Input<T>` of the first nodes reads.
    ///
    /// A value that cannot be written as JSON becomes null.
    pub fn data(value: impl Serialize) -> Self {
        let text = serde_json::to_string(&value).unwrap_or_else(|_| "null".to_owned());
        Self(Content::user(text))
    }

    /// Returns the message as content; the Runner sets its role to `user`.
    // R1103
    #[must_use]
    pub fn into_content(self) -> Content {
        self.0
    }
}

impl<T: Into<pleach_core::Message>> From<T> for Message {
    fn from(message: T) -> Self {
        let pleach_core::Message(content) = message.into();
        Self(content)
    }
}

/// Returns a user's content of these parts.
pub(crate) fn of_parts(parts: Vec<Part>) -> Content {
    Content::new("user", parts)
}

/// Sets the role of a user's message to `user`, whatever role the caller gave it.
// R1103
pub(crate) fn as_user(mut content: Content) -> Content {
    content.role = Some("user".into());
    content
}
