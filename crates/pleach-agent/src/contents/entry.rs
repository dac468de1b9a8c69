//! One content of a conversation, while it is put in order.

use std::sync::Arc;

use pleach_core::{Content, Event, Part};
use pleach_model::SharedContent;

/// A content, and the event that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Entry<'e> {
    pub(super) content: SharedContent,
    pub(super) has_calls: bool,
    pub(super) has_responses: bool,
    kind: Kind<'e>,
}

/// What an entry shows of its event.
#[derive(Clone, Copy, Debug)]
enum Kind<'e> {
    /// Its message, perhaps without some parts or merged with later ones.
    Raw(&'e Event),
    /// A quotation of another agent.
    Quoted,
    /// A summary of earlier events.
    Summary,
}

impl<'e> Entry<'e> {
    /// Shows the message of an event; `None` when it has none.
    pub(super) fn of(event: &'e Arc<Event>) -> Option<Self> {
        Some(Self::new(SharedContent::of(event)?, Kind::Raw(event)))
    }

    /// Shows the summary that an event holds; `None` when it holds none.
    pub(super) fn summary_of(event: &'e Arc<Event>) -> Option<Self> {
        Some(Self::new(SharedContent::summary_of(event)?, Kind::Summary))
    }

    /// Shows a quotation.
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

    /// Returns the event, unless its message is replaced.
    pub(super) fn raw(&self) -> Option<&'e Event> {
        match self.kind {
            Kind::Raw(event) => Some(event),
            Kind::Quoted | Kind::Summary => None,
        }
    }

    /// Returns an entry of the same event that shows these parts.
    pub(super) fn with_parts(&self, parts: Vec<Part>) -> Self {
        let content =
            Content { parts: Some(parts), role: self.content.role.clone(), extra: self.content.extra.clone() };
        Self::new(content.into(), self.kind)
    }

    /// Returns the entry with the parts that `keep` names: itself when it names all, `None` when it names none.
    pub(super) fn keeping(self, keep: &[bool]) -> Option<Self> {
        if keep.iter().all(|keep| *keep) {
            return Some(self);
        }
        let parts: Vec<Part> =
            self.content.parts().iter().zip(keep).filter(|(_, keep)| **keep).map(|(part, _)| part.clone()).collect();
        (!parts.is_empty()).then(|| self.with_parts(parts))
    }
}
