//! [`Message`]: a user's message.

use pleach_core::{Content, Part, Unstorable};
use serde::Serialize;

/// A user's message: text, parts, or data as JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    content: Content,
    /// Why the data cannot be sent, if it cannot.
    fault: Option<Unstorable>,
}

impl Message {
    /// Returns a message with data as JSON text. The first nodes of a workflow read it with `Input<T>`.
    ///
    /// A run refuses data that has no JSON form, such as a NaN: it fails with
    /// [`SessionError::Unstorable`](pleach_session::SessionError::Unstorable) before anything is stored.
    pub fn data(value: impl Serialize) -> Self {
        match pleach_core::to_json(&value).and_then(|_| serde_json::to_string(&value)) {
            Ok(text) => Self { content: Content::user(text), fault: None },
            Err(_) => Self { content: Content::user(""), fault: Some(no_json()) },
        }
    }

    /// Returns the message as content; the Runner sets its role to `user`. Data without a JSON form becomes an empty text.
    // R1103
    #[must_use]
    pub fn into_content(self) -> Content {
        self.content
    }

    pub(crate) fn into_parts(self) -> (Content, Option<Unstorable>) {
        (self.content, self.fault)
    }
}

fn no_json() -> Unstorable {
    let reason = "its data has no JSON form, such as a NaN or a map whose keys are not strings: send another value";
    Unstorable { field: "message".to_owned(), reason }
}

impl<T: Into<pleach_core::Message>> From<T> for Message {
    fn from(message: T) -> Self {
        let pleach_core::Message(content) = message.into();
        Self { content, fault: None }
    }
}

/// Returns a user's content with these parts.
pub(crate) fn of_parts(parts: Vec<Part>) -> Content {
    Content::new("user", parts)
}

/// Sets the role of a user's message to `user`. A role that the caller has set is replaced.
// R1103
pub(crate) fn as_user(mut content: Content) -> Content {
    content.role = Some("user".into());
    content
}
