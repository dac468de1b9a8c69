//! [`CallbackNote`]: a note on an event about the agent callback that produced the event.
// L134–L136

use pleach_core::Event;
use pleach_session::notes::{AGENT_CALLBACK, engine_note};

/// The kind of agent callback that has produced an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallbackNote {
    /// A `before_agent` callback. If the event has a content, the content is the answer.
    Before,
    /// An `after_agent` callback. On an end mark it announces that such an event follows.
    After,
}

impl CallbackNote {
    /// Reads the note on an event.
    pub(crate) fn on(event: &Event) -> Option<Self> {
        match engine_note(event, AGENT_CALLBACK)?.as_str()? {
            "before" => Some(Self::Before),
            "after" => Some(Self::After),
            _ => None,
        }
    }

    /// Puts the note on a new event.
    pub(crate) fn put_on(self, mut event: Event) -> Event {
        let note = match self {
            Self::Before => "before",
            Self::After => "after",
        };
        event.set_custom_metadata(Some([(AGENT_CALLBACK.to_owned(), note.into())].into_iter().collect()));
        event
    }
}
