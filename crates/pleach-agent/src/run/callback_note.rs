//! [`CallbackNote`]: which callback around an agent has given an event.
// L134–L136

use pleach_core::Event;
use pleach_session::notes::AGENT_CALLBACK;

/// The callback around an agent that has given an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallbackNote {
    /// One before the agent; its content is the answer.
    Before,
    /// One behind the agent; on the mark of its end: such an event follows.
    After,
}

impl CallbackNote {
    /// Reads the note on an event.
    pub(crate) fn on(event: &Event) -> Option<Self> {
        match event.custom_metadata()?.get(AGENT_CALLBACK)?.as_str()? {
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
