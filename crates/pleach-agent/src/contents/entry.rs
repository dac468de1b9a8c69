//! One content of a conversation while the conversation is being ordered.

use std::sync::Arc;

use pleach_core::{Content, Event, Part};
use pleach_model::SharedContent;

/// A content and the event that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Entry<'e> {
    pub(super) content: SharedContent,
    pub(super) has_calls: bool,
    pub(super) has_responses: bool,
    kind: Kind<'e>,
}

/// The part of an event that an entry shows.
#[derive(Clone, Copy, Debug)]
enum Kind<'e> {
    /// The message of the event, possibly without some parts or merged with later messages.
    Raw(&'e Event),
    /// A quotation of another agent.
    Quoted,
    /// A summary of earlier events.
    Summary,
}

impl<'e> Entry<'e> {
    /// Creates an entry for the message of an event; `None` if the event has no message.
    pub(super) fn of(event: &'e Arc<Event>) -> Option<Self> {
        Some(Self::new(SharedContent::of(event)?, Kind::Raw(event)))
    }

    /// Creates an entry for the summary in an event; `None` if the event has no summary.
    pub(super) fn summary_of(event: &'e Arc<Event>) -> Option<Self> {
        Some(Self::new(SharedContent::summary_of(event)?, Kind::Summary))
    }

    /// Creates an entry for a quotation.
    pub(super) fn quoted(content: Content) -> Self {
        Self::new(content.into(), Kind::Quoted)
    }

    fn new(content: SharedContent, kind: Kind<'e>) -> Self {
        let (mut has_calls, mut has_responses) = (false, false);
        for part in content.parts() {
            has_calls |= part.function_call.is_some();
            has_responses |= part.function_response.is_some();
        }
        Self { content, has_calls, has_responses, kind }
    }

    /// Returns the event, unless the entry shows a quotation or a summary.
    pub(super) fn raw(&self) -> Option<&'e Event> {
        match self.kind {
            Kind::Raw(event) => Some(event),
            Kind::Quoted | Kind::Summary => None,
        }
    }

    /// Returns an entry of the same event with these parts.
    pub(super) fn with_parts(&self, parts: Vec<Part>) -> Self {
        let content =
            Content { parts: Some(parts), role: self.content.role.clone(), extra: self.content.extra.clone() };
        Self::new(content.into(), self.kind)
    }

    /// Returns the entry with only the parts whose flag in `keep` is set. Returns the entry itself if all flags are
    /// set, and `None` if no flag is set.
    pub(super) fn keeping(self, keep: &[bool]) -> Option<Self> {
        if keep.iter().all(|keep| *keep) {
            return Some(self);
        }
        let parts: Vec<Part> =
            self.content.parts().iter().zip(keep).filter(|(_, keep)| **keep).map(|(part, _)| part.clone()).collect();
        (!parts.is_empty()).then(|| self.with_parts(parts))
    }
}
