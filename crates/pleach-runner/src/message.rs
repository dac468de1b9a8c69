//! What a user sends.

use pleach_core::{Content, Part};
use serde::Serialize;

/// A user's message: text, parts, or data as JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(Content);

impl Message {
    /// Data as a message: its JSON, which an `Input<T>` of the first nodes reads.
    ///
    /// A value that has no JSON form becomes null.
    pub fn data(value: impl Serialize) -> Self {
        let text = serde_json::to_string(&value).unwrap_or_else(|_| "null".to_owned());
        Self(Content::user(text))
    }

    /// The message as content; its role is always `user`.
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

/// A content that is one part.
pub(crate) fn of_parts(parts: Vec<Part>) -> Content {
    Content::new("user", parts)
}

/// Whatever a caller says, a user's message has the role `user`.
// R1103
pub(crate) fn as_user(mut content: Content) -> Content {
    content.role = Some("user".into());
    content
}
